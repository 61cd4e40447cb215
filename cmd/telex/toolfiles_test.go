package main

import (
	"fmt"
	"strings"
	"testing"

	"telex/standin/openai"
)

// A tool returns a picture and a file. After the answer, the bot must send the picture and the file unchanged, each in
// its own message, the picture first. The model must read a note about the picture and the file.
func TestFilesOfToolsOnThreePlatforms(t *testing.T) {
	t.Parallel()
	const answer = "Here is the plan, and who sits where."
	bench := newWorkbench(t)
	networks, model, daemon := startPlatformsWith(t, sections{streaming: quick, more: bench.section()})
	daemon.awaitLog("MCP server listed its tools", 1)
	var places []*place
	for _, n := range networks {
		question := "Who sits where on " + n.name + "?"
		bench.letGo("plan", n.name)
		places = append(places, n.begin(model, 1, question, []openai.Rule{
			{Match: question, Times: 1, Do: fmt.Sprintf("call=%q", fmt.Sprintf(`desk_plan {"for":%q}`, n.name))},
			{Match: "Images that the tools returned", Times: 1, Do: fmt.Sprintf("say=%q", answer)}, // the model gets the picture in a separate message
		}))
	}
	daemon.awaitLog("turn ended", len(places))
	shown := 0
	for _, r := range model.requests() {
		if len(r.Images) == 1 && strings.Contains(string(r.Body), "the file seats.csv (text/csv, 20 bytes), which is given to the person and not to you") {
			shown++
		}
	}
	if shown != len(places) {
		t.Errorf("the model was shown the picture and told of the file %d times, want %d", shown, len(places))
	}
	for _, p := range places {
		list := p.posts(p.where)
		t.Log(p.transcript())
		if len(list) != 3 {
			t.Errorf("%s: %d messages, want the text, the picture and the file", p.name, len(list))
			continue
		}
		if got := list[0].last(); got.text != answer || len(got.files) > 0 {
			t.Errorf("%s: the text is %+v", p.name, got)
		}
		for i, want := range []string{string(bench.picture), seats} {
			got := list[i+1].last()
			if len(got.files) != 1 || len(got.buttons) > 0 {
				t.Errorf("%s: message %d is %+v, want one file", p.name, i+2, got)
				continue
			}
			if content := p.content(p.where, got.files[0]); content != want {
				t.Errorf("%s: %s has %d bytes, want %d", p.name, got.files[0].name, len(content), len(want))
			}
			t.Logf("%s: message %d is the file %s, %d bytes", p.name, i+2, got.files[0].name, len(want))
		}
		if name := list[2].last().files[0].name; name != "seats.csv" {
			t.Errorf("%s: the file is called %s", p.name, name)
		}
	}
}
