package terminal

import (
	"bytes"
	"errors"
	"testing"

	"telex/internal/chat"
)

// The gateway must be able to fetch the files of an input until the input is answered or the client disconnects.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := s.attach("main")
	big := bytes.Repeat([]byte("x"), MaxFiles-5)
	if err := c.Say("1", "", File{Name: "a.txt", Data: []byte("hello")}, File{Name: "b.bin", Data: big}); err != nil {
		t.Fatal(err)
	}
	in := <-s.heard
	if len(in.Attachments) != 2 || in.Text != "" || in.Attachments[0].Name != "a.txt" || in.Attachments[1].Size != int64(len(big)) {
		t.Fatalf("heard %d attachments, %+v", len(in.Attachments), in)
	}
	fetch := func(a chat.Attachment, limit int64) string {
		data, err := s.hub.Fetch(t.Context(), a, limit)
		var failed *chat.SendError
		switch {
		case errors.Is(err, chat.ErrTooLarge):
			return "too large"
		case errors.As(err, &failed) && failed.Kind == chat.Gone:
			return "gone"
		case err != nil:
			return err.Error()
		}
		return string(data)
	}
	for _, tt := range []struct {
		a     chat.Attachment
		limit int64
		want  string
	}{
		{in.Attachments[0], 5, "hello"},
		{in.Attachments[0], 4, "too large"},
		{in.Attachments[1], MaxFiles, string(big)},
		{chat.Attachment{ID: in.Attachments[0].ID + "9"}, 5, "gone"},
		{chat.Attachment{ID: "x"}, 5, "gone"},
		{chat.Attachment{ID: string(in.ID) + "/-1"}, 5, "gone"},
	} {
		if got := fetch(tt.a, tt.limit); got != tt.want {
			t.Errorf("%s within %d: got %.50q, want %.50q", tt.a.ID, tt.limit, got, tt.want)
		}
	}
	s.hub.Concluded(chat.Target{Chat: "main"}, []chat.MessageID{in.ID}, false)
	if got := fetch(in.Attachments[0], 5); got != "gone" {
		t.Errorf("once it is answered: got %q", got)
	}
}

// If a client sends more files than the hub's limits allow, the hub must refuse the input and tell the client the
// reason.
func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := s.attach("main")
	many := make([]File, maxAttached+1)
	if err := c.Say("1", "look", many...); err != nil {
		t.Fatal(err)
	}
	if m := s.next(c).Message; m == nil || m.Note != "This message was not accepted: "+errFiles.Error()+"." {
		t.Errorf("got %+v", m)
	}
	if d := s.next(c).Done; d == nil || !d.Failed {
		t.Errorf("got %+v, want it done", d)
	}
}
