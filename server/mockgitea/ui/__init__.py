"""Server-rendered pages over the same views as the JSON."""
