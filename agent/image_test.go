package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// photos returns images whose content identifies them.
func photos(names string) []Image {
	var out []Image
	for name := range strings.FieldsSeq(names) {
		out = append(out, Image{MediaType: "image/png", Data: []byte(name)})
	}
	return out
}

func seen(messages []Message) string {
	var out []string
	for _, m := range messages {
		text := m.Text
		for _, i := range m.Images {
			text += "+" + string(i.Data)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestLimitImages(t *testing.T) {
	t.Parallel()
	messages := []Message{
		{Text: "one", Images: photos("a b")}, {Text: "two"}, {Images: photos("c")}, {Text: "three", Images: photos("d e f")},
	}
	for most, want := range map[int]string{
		9: "one+a+b, two, +c, three+d+e+f",
		6: "one+a+b, two, +c, three+d+e+f",
		5: "one\n[image]+b, two, +c, three+d+e+f",
		4: "one\n[image]\n[image], two, +c, three+d+e+f",
		3: "one\n[image]\n[image], two, [image], three+d+e+f",
		1: "one\n[image]\n[image], two, [image], three\n[image]\n[image]+f",
		0: "one\n[image]\n[image], two, [image], three\n[image]\n[image]\n[image]",
	} {
		if got := seen(limitImages(messages, most, imageOmitted)); got != want {
			t.Errorf("%d: got %q, want %q", most, got, want)
		}
	}
	if got := seen(messages); got != "one+a+b, two, +c, three+d+e+f" {
		t.Errorf("the messages became %q", got)
	}
	if got := limitImages(nil, 0, imageOmitted); got != nil {
		t.Errorf("nothing became %v", got)
	}
}

func TestOnlyTheNewestImagesAreSent(t *testing.T) {
	t.Parallel()
	turn := Turn{Stream: true, Messages: []Message{{Role: User, Text: "look", Images: photos("a b")}, {Role: Assistant, Text: "nice"}, {Role: User, Images: photos("c d e f g h i j k")}}}
	got := runTurn(t, t.Context(), Options{}, turn, answer{deltas: texts("Hello.")})
	got.check(t, StopDone, "Hello.", `text:"Hello."`)
	if got, want := seen(got.model.requests[0].Messages), "look\n[image]+b, nice, +c+d+e+f+g+h+i+j+k"; got != want {
		t.Errorf("asked with %q, want %q", got, want)
	}
}

func TestModelWithoutImages(t *testing.T) {
	t.Parallel()
	refused := answer{err: &ModelError{Kind: BadRequest, Status: 404, Err: errors.New("no endpoint takes images")}}
	tooBig := answer{err: &ModelError{Kind: BadImage, Status: 413, Err: errors.New("too large")}}
	hello := answer{deltas: texts("Hello.")}
	const shown, notShown = "look+a", "look\n" + imageNotShown
	for _, tt := range []struct {
		name    string
		answers []answer
		stops   []StopReason // how each turn ends
		asked   []string
	}{
		{"remembered", []answer{refused, hello, hello}, []StopReason{StopDone, StopDone}, []string{shown, notShown, notShown}},
		{"another mistake", []answer{refused, refused, hello}, []StopReason{StopError, StopDone}, []string{shown, notShown, shown}},
		{"it saw some before", []answer{hello, refused, hello, hello}, []StopReason{StopDone, StopDone, StopDone}, []string{shown, shown, notShown, shown}},
		{"too big", []answer{tooBig, hello, hello}, []StopReason{StopDone, StopDone}, []string{shown, notShown, shown}},
		{"after text", []answer{{deltas: texts("He"), err: refused.err}, hello}, []StopReason{StopError, StopDone}, []string{shown, shown}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := &script{answers: tt.answers}
			a := newAgent(t, ModelOptions{Model: model})
			var stops []StopReason
			for range tt.stops {
				r, _ := a.Run(t.Context(), Turn{Stream: true, Messages: []Message{{Role: User, Text: "look", Images: photos("a")}}}, func(Event) {})
				stops = append(stops, r.Stop)
			}
			var asked []string
			for _, r := range model.requests {
				asked = append(asked, seen(r.Messages))
			}
			if fmt.Sprint(stops) != fmt.Sprint(tt.stops) || fmt.Sprintf("%q", asked) != fmt.Sprintf("%q", tt.asked) {
				t.Errorf("got %v, asked with %q\nwant %v, %q", stops, asked, tt.stops, tt.asked)
			}
		})
	}
}

// The size of all images of a request is limited, too. Only the newest images that fit are sent.
func TestLimitImagesByBytes(t *testing.T) {
	t.Parallel()
	image := func(mib int) Image { return Image{MediaType: "image/png", Data: make([]byte, mib<<20)} }
	got := limitImages([]Message{{Text: "one", Images: []Image{image(5), image(1)}}, {Text: "two", Images: []Image{image(5)}}, {Text: "three", Images: []Image{image(5)}}}, 9, imageOmitted)
	if len(got[2].Images) != 1 || len(got[1].Images) != 1 || len(got[0].Images) != 1 || got[0].Text != "one\n[image]" {
		t.Errorf("%d, %d and %d images stay, the first message is %q", len(got[0].Images), len(got[1].Images), len(got[2].Images), got[0].Text)
	}
}

// The images that tools return in one turn are limited, because the turn keeps all of them in memory until its end.
func TestImagesOfATurnAreLimited(t *testing.T) {
	t.Parallel()
	tools := toolbox{{Name: "draw", ReadOnly: true, Call: func(context.Context, Input) (Output, error) {
		return Output{Text: "drawn", Images: []Image{{MediaType: "image/png", Data: make([]byte, 4<<20)}}}, nil
	}}}
	calls := make([]string, 8)
	for i := range calls {
		calls[i] = "draw {}"
	}
	got := runTurn(t, t.Context(), Options{Tools: tools}, streamed, called("", calls...), answer{deltas: texts("Done.")})
	kept, told := 0, 0
	for _, m := range got.Append {
		kept += len(m.Images)
		if strings.Contains(m.Text, "images were left out") {
			told++
		}
	}
	if kept != maxTurnImages>>22 || told != 2 {
		t.Errorf("%d images are kept, %d answers say that some were left out", kept, told)
	}
}
