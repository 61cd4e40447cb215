package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// workbench is a tool server whose calls wait until the test lets them end:
//
//	stock, prices  read only
//	plan           reads only, and returns a picture and a file besides
//	order          changes something: a person must approve it
//
// Each tool has one parameter, "for": a name by which tests distinguish the calls.
type workbench struct {
	t       *testing.T
	url     string
	picture []byte // the picture that the tool plan returns

	mu    sync.Mutex
	gates map[string]*gate
	door  chan struct{} // requests wait until this channel is closed; nil: they do not wait
}

// gate holds back the calls of one tool with one name.
type gate struct {
	mu    sync.Mutex
	runs  int
	begun chan struct{} // closed by the first call of the tool with the name
	open  chan struct{} // closed by letGo, which ends the calls
}

// seats is the file that plan makes.
const seats = "Ada,window\nBob,door\n"

// newWorkbench starts a tool server that runs until the test ends.
func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	b := &workbench{t: t, picture: pngOf(t, 320, 200), gates: make(map[string]*gate)}
	server := sdk.NewServer(&sdk.Implementation{Name: "workbench", Version: "1"}, nil)
	schema := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{"for": {Type: "string"}}, Required: []string{"for"},
	}
	for _, tool := range []sdk.Tool{
		{Name: "stock", Title: "Count what is there", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		{Name: "prices", Title: "Look up prices", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		{Name: "plan", Title: "Draw a plan", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		{Name: "order", Title: "Order it"},
	} {
		tool.InputSchema = schema
		server.AddTool(&tool, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return b.call(ctx, req.Params.Name, req.Params.Arguments)
		})
	}
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.admit(r.Context()) {
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
		web.CloseClientConnections()
		web.Close()
	})
	b.url = web.URL
	return b
}

// shut makes all new requests wait until the returned function is called.
func (b *workbench) shut() (open func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	door := make(chan struct{})
	b.door = door
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.door = nil
		close(door)
	}
}

// admit waits while the door is shut. admit returns false if the request or the test ends before the door opens.
func (b *workbench) admit(ctx context.Context) bool {
	b.mu.Lock()
	door := b.door
	b.mu.Unlock()
	if door == nil {
		return true
	}
	select {
	case <-door:
		return true
	case <-ctx.Done():
	case <-b.t.Context().Done():
	}
	return false
}

func (b *workbench) call(ctx context.Context, tool string, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	var in struct{ For string }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, err
	}
	g := b.gate(tool, in.For)
	g.enter()
	select {
	case <-g.open:
		content := []sdk.Content{&sdk.TextContent{Text: tool + " for " + in.For + ": done"}}
		if tool == "plan" {
			content = append(content, &sdk.ImageContent{MIMEType: "image/png", Data: b.picture}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
				URI: "file:///plans/seats.csv", MIMEType: "text/csv", Blob: []byte(seats),
			}})
		}
		return &sdk.CallToolResult{Content: content}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.t.Context().Done(): // the test that made the call may have ended already
		return nil, context.Cause(b.t.Context())
	}
}

func (b *workbench) gate(tool, name string) *gate {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := tool + " " + name
	if b.gates[key] == nil {
		b.gates[key] = &gate{begun: make(chan struct{}), open: make(chan struct{})}
	}
	return b.gates[key]
}

func (g *gate) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs++; g.runs == 1 {
		close(g.begun)
	}
}

// awaitCall waits until a tool is called with the given name.
func (b *workbench) awaitCall(tool, name string) {
	b.t.Helper()
	select {
	case <-b.gate(tool, name).begun:
	case <-time.After(patience):
		b.t.Fatalf("%s was not called for %s", tool, name)
	}
}

// letGo lets the calls of a tool with the given name end, including future calls.
func (b *workbench) letGo(tool, name string) { close(b.gate(tool, name).open) }

// runs returns how often the tool was called with the given name.
func (b *workbench) runs(tool, name string) int {
	g := b.gate(tool, name)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.runs
}

// section is the configuration that offers the tools.
func (b *workbench) section() string {
	return "mcp_servers: [{name: desk, url: " + b.url + ", trust: true}]\n"
}
