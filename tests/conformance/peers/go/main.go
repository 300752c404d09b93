// One Connect call per line of standard input, one answer per line of standard output.
// Usage: peer BASE_URL DESCRIPTOR_SET_FILE proto|json identity|gzip
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

type line struct {
	Service   string            `json:"service"`
	Method    string            `json:"method"`
	Request   json.RawMessage   `json:"request"`
	Headers   map[string]string `json:"headers"`
	TimeoutMs int               `json:"timeoutMs"`
}

type answer struct {
	Message json.RawMessage   `json:"message,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Code    string            `json:"code,omitempty"`
	Text    string            `json:"text,omitempty"`
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func call(base string, method protoreflect.MethodDescriptor, asked line, options []connect.ClientOption) answer {
	initialize := func(_ connect.Spec, message any) error {
		*message.(*dynamicpb.Message) = *dynamicpb.NewMessage(method.Output())
		return nil
	}
	options = append(options, connect.WithSchema(method), connect.WithResponseInitializer(initialize))
	url := base + "/" + asked.Service + "/" + asked.Method
	client := connect.NewClient[dynamicpb.Message, dynamicpb.Message](http.DefaultClient, url, options...)
	message := dynamicpb.NewMessage(method.Input())
	check(protojson.Unmarshal(asked.Request, message))
	request := connect.NewRequest(message)
	for name, value := range asked.Headers {
		request.Header().Set(name, value)
	}
	ctx := context.Background()
	if asked.TimeoutMs > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(asked.TimeoutMs)*time.Millisecond)
		defer cancel()
		ctx = limited
	}
	got, err := client.CallUnary(ctx, request)
	if err != nil {
		var wire *connect.Error
		if errors.As(err, &wire) {
			return answer{Code: wire.Code().String(), Text: wire.Message()}
		}
		return answer{Code: "unknown", Text: err.Error()}
	}
	body, err := protojson.Marshal(got.Msg)
	check(err)
	headers := map[string]string{}
	for name, values := range got.Header() {
		headers[strings.ToLower(name)] = values[0]
	}
	return answer{Message: body, Headers: headers}
}

func main() {
	raw, err := os.ReadFile(os.Args[2])
	check(err)
	set := &descriptorpb.FileDescriptorSet{}
	check(proto.Unmarshal(raw, set))
	files, err := protodesc.NewFiles(set)
	check(err)
	var options []connect.ClientOption
	if os.Args[3] == "json" {
		options = append(options, connect.WithProtoJSON())
	}
	if os.Args[4] == "gzip" {
		options = append(options, connect.WithSendGzip())
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 64<<20)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		var asked line
		check(json.Unmarshal(input.Bytes(), &asked))
		found, err := files.FindDescriptorByName(protoreflect.FullName(asked.Service))
		check(err)
		method := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(asked.Method))
		check(output.Encode(call(os.Args[1], method, asked, options)))
	}
}
