package preview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/platforms/telegram"
)

// made returns files with the given names. Each file has one kilobyte of content.
func made(names ...string) (files []chat.File) {
	for _, n := range names {
		files = append(files, chat.File{Name: n, MediaType: "image/png", Content: []byte(strings.Repeat(n[:1], 1000))})
	}
	return files
}

// standing returns the text of each visible message, or the name of its file.
func (p *person) standing() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.messages {
		switch {
		case m.deleted:
		case m.file != nil:
			out = append(out, strings.TrimSpace("file "+m.file.Name+" "+m.now().Text))
		default:
			out = append(out, m.now().Text)
		}
	}
	return out
}

func withFilesLine() Config {
	c := streamed()
	c.FileLine, c.FilesLine = "The rest.", "I could not send {files} here."
	return c
}

func TestFilesFollowTheText(t *testing.T) {
	files := made("a_b_c.png", "b.png")
	for _, c := range []struct {
		name   string
		change func(*person, *Endpoint, *Config)
		ending Ending
		want   []string
	}{
		{"after the text", nil, Ending{Text: "the text", Files: files}, []string{"the text", "file a_b_c.png", "file b.png"}},
		{"without a text", nil, Ending{Files: files}, []string{"file a_b_c.png", "file b.png"}},
		{"below the note", nil, Ending{Text: "the text", Cut: true, Note: "It broke off.", Files: files}, []string{"the text\n\nIt broke off.", "file a_b_c.png", "file b.png"}},
		{
			"below the rest", func(p *person, _ *Endpoint, c *Config) { p.profile.TextLimit, c.MaxParts = 40, 1 },
			Ending{Text: strings.Repeat("words ", 10), Note: "Note.", Files: files[:1]},
			[]string{"words words words words words words", "file answer.md The rest.", "Note.", "file a_b_c.png"},
		},
		{
			"in place of a text that is shorter in the end", func(p *person, _ *Endpoint, _ *Config) { p.profile.TextLimit = 12 },
			Ending{Text: "short", Files: files},
			[]string{"short", "file a_b_c.png", "file b.png"},
		},
		{
			"where there are none", func(_ *person, e *Endpoint, _ *Config) { e.Filer = nil },
			Ending{Text: "the text", Files: files},
			[]string{"the text\n\nI could not send a_b_c.png, b.png here."},
		},
		{
			"where there are none, without a text", func(_ *person, e *Endpoint, _ *Config) { e.Filer = nil },
			Ending{Files: files},
			[]string{"I could not send a_b_c.png, b.png here."},
		},
		{
			"too large", func(p *person, _ *Endpoint, _ *Config) { p.profile.FileLimit = 1000 },
			Ending{Text: "the text", Note: "Note.", Files: append(files[:2:2], chat.File{Name: "*big*\n`1`.png", Content: make([]byte, 1001)})},
			[]string{"the text\n\nNote.\n\nI could not send *big* `1`.png here.", "file a_b_c.png", "file b.png"},
		},
		{
			"refused", func(p *person, _ *Endpoint, _ *Config) { p.fate = refusing(chat.Rejected, 0) },
			Ending{Text: "the text", Files: files},
			[]string{"the text", "file b.png"},
		},
		{
			"refused for its length", func(p *person, _ *Endpoint, _ *Config) { p.fate = refusing(chat.TooLong, 1) },
			Ending{Text: "the text", Files: files},
			[]string{"the text", "file a_b_c.png"},
		},
		{
			"like the rest", func(p *person, _ *Endpoint, c *Config) {
				p.profile.TextLimit, c.MaxParts, p.fate = 40, 1, refusing(chat.Rejected, 0)
			},
			Ending{Text: strings.TrimSpace(strings.Repeat("words ", 8)), Files: files[:1]},
			[]string{"words words words words words words", "words words", "file a_b_c.png"},
		},
	} {
		for name, said := range map[string]string{"": "", " behind previews": "one two three four five"} {
			t.Run(c.name+name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p, e := fullPlatform()
					p.dialect = telegram.Dialect{}
					config := withFilesLine()
					if c.change != nil {
						c.change(p, &e, &config)
					}
					s := beginAt(t, p, e, config, "key")
					s.says(said, 3*time.Second)
					if o := s.ends(c.ending); !o.Delivered || o.Err != nil {
						t.Errorf("outcome %+v, want it delivered", o)
					}
					equal(t, "a person sees", p.standing(), c.want)
				})
			})
		}
	}
}

// refusing returns a function that refuses file n, counted from 0, and accepts every other call.
func refusing(kind chat.ErrorKind, n int) func(*call) fate {
	seen := 0
	return func(c *call) fate {
		if !c.file {
			return fate{}
		}
		if seen++; seen == n+1 {
			return fail(kind)
		}
		return fate{}
	}
}

// A process dies while it sends the files of a reply. The next process must send the missing files, and must not send a
// file again that is certainly visible.
func TestFilesAfterAKill(t *testing.T) {
	files := made("a.png", "b.png", "c.png")
	ending := Ending{Text: "the text", Files: files}
	want := []string{"the text", "file a.png", "file b.png", "file c.png"}
	for _, keyed := range []bool{false, true} {
		for n := range 8 {
			t.Run(fmt.Sprintf("%d %t", n, keyed), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p, e := fullPlatform()
					if p.latency = time.Second; keyed {
						p.profile.KeyFor = time.Hour
					}
					s := live(t, p, e, withFilesLine())
					s.says("one two three", 3*time.Second)
					s.slot.Finish(ending)
					s.waits(time.Duration(n)*500*ms + 100*ms)
					s.again()
					if o := s.ends(ending); !o.Delivered {
						t.Errorf("outcome %+v", o)
					}
					got := p.standing()
					if once := slices.Compact(slices.Clone(got)); !keyed && s.out.Doubt && len(got) == len(want)+1 {
						got = once // the file was sent although the process died, but the next process can't know that
					}
					equal(t, "a person sees", got, want)
				})
			})
		}
	}
}

// The create call for a text gets no response. The ending has a file with the same index and key. The bot must find out
// whether the text was sent, and delete the text before it sends the file.
func TestFileInPlaceOfATextOfUnknownOutcome(t *testing.T) {
	bothWays(t, func(t *testing.T, applied bool) {
		p, e := fullPlatform()
		p.profile.TextLimit, p.profile.KeyFor = 40, time.Hour
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend && c.attempt == 1 {
				return uncertain(applied)
			}
			return fate{}
		}
		s := beginAt(t, p, e, withFilesLine(), "key")
		s.says(strings.Repeat("word ", 12), 100*ms)
		if o := s.ends(Ending{Text: "short", Files: made("a.png")}); !o.Delivered {
			t.Errorf("outcome %+v", o)
		}
		equal(t, "a person sees", p.standing(), []string{"short", "file a.png"})
	})
}

// Somebody stops a reply between two files. The first file must stay, although its message has no text.
func TestCutBetweenFiles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.latency = time.Second
		s := beginAt(t, p, e, withFilesLine(), "key")
		s.slot.Finish(Ending{Text: "the text", Files: made("a.png", "b.png")})
		s.waits(2500 * ms)
		s.slot.Cut()
		<-s.ended
		if got := p.standing(); len(got) < 2 || got[0] != "the text" || got[1] != "file a.png" {
			t.Errorf("a person sees %q", got)
		}
	})
}
