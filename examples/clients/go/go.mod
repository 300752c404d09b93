module example.com/mockgitea-client

go 1.21
