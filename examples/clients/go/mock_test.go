// A Go test against mockgitea: the standard library is all it needs.
package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const workflow = "on: push\njobs:\n  build:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"

type object = map[string]any

// Mock is a running server: its addresses and tokens, as the ready file tells them.
type Mock struct {
	RunnerURL         string `json:"runner_url"`
	ControlURL        string `json:"control_url"`
	RegistrationToken string `json:"registration_token"`
}

// startMock starts a server for this test and stops it afterwards.
func startMock(t *testing.T) *Mock {
	t.Helper()
	ready := os.Getenv("MOCKGITEA_READY_FILE")
	if ready == "" {
		ready = filepath.Join(t.TempDir(), "ready.json")
		command := os.Getenv("MOCKGITEA")
		if command == "" {
			command = "mockgitea"
		}
		server := exec.Command(command, "serve", "--port", "0", "--control-port", "0", "--ready-file", ready)
		server.Stderr = os.Stderr
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = server.Process.Signal(os.Interrupt)
			_ = server.Wait()
		})
	}
	mock := &Mock{}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(ready) // it appears once everything answers
		if err == nil {
			if err := json.Unmarshal(text, mock); err != nil {
				t.Fatal(err)
			}
			return mock
		}
		if time.Now().After(deadline) {
			t.Fatal("mockgitea did not start")
		}
	}
}

func call(t *testing.T, method, url string, body any, header http.Header) object {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(method, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s", method, url, answer.Status, content)
	}
	decoded := object{}
	if err := json.Unmarshal(content, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// Control does one call of the control API.
func (mock *Mock) Control(t *testing.T, method, path string, body any) object {
	t.Helper()
	return call(t, method, mock.ControlURL+"/control/v1"+path, body, nil)
}

// WaitFor waits for calls of a runner and fails with the nearest misses when they do not come.
func (mock *Mock) WaitFor(t *testing.T, match object, n int) {
	t.Helper()
	verdict := mock.Control(t, "POST", "/journal/wait", object{"match": match, "n": n, "within_s": 10.0})
	if verdict["is_met"] != true {
		t.Fatal(verdict["explanation"])
	}
}

func TestRunnerFinishesItsTask(t *testing.T) {
	mock := startMock(t)
	run := mock.Control(t, "POST", "/enqueue", object{"repository": "demo/demo", "workflow": workflow})
	runner := mock.Control(t, "POST", "/runners", object{"name": "go-runner", "labels": []string{"linux"}})

	// Put your runner here. This one plays the protocol by hand, over Connect with JSON.
	identity := http.Header{}
	identity.Set("x-runner-uuid", runner["uuid"].(string))
	identity.Set("x-runner-token", runner["token"].(string))
	rpc := func(method string, message object) object {
		return call(t, "POST", mock.RunnerURL+"/api/actions/runner.v1.RunnerService/"+method, message, identity)
	}
	task := rpc("FetchTask", object{"tasksVersion": 0})["task"].(object)["id"]
	rpc("UpdateLog", object{"taskId": task, "rows": []object{{"content": "hello"}}, "noMore": true})
	rpc("UpdateTask", object{"state": object{"id": task, "result": "RESULT_SUCCESS"}})

	mock.WaitFor(t, object{"method": "UpdateTask", "runner": "go-runner", "request": object{"state.result": "success"}}, 1)
	if status := mock.Control(t, "GET", fmt.Sprintf("/runs/%v", run["run_id"]), nil)["status"]; status != "success" {
		t.Fatalf("the run is %v", status)
	}
	if findings := mock.Control(t, "GET", "/audit", nil)["findings"].([]any); len(findings) != 0 {
		t.Fatalf("the audit found %v", findings)
	}
}
