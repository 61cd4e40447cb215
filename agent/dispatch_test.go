package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// does returns a read-only tool that runs f.
func does(name string, f func(context.Context, Input) (Output, error)) ToolDef {
	return ToolDef{Name: name, ReadOnly: true, Call: f}
}

// takes returns a job that takes the given time, unless the job is stopped.
func takes(d time.Duration) job {
	return job{def: does("wait", func(ctx context.Context, _ Input) (Output, error) {
		if err := Sleep(ctx, d); err != nil {
			return Output{}, err
		}
		return Output{Text: fmt.Sprint(d)}, nil
	})}
}

func noteless(report) {}

func TestDispatchRunsCallsConcurrentlyAndKeepsTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var starts, ends []string
		out := dispatch(t.Context(), []job{takes(3 * time.Second), takes(time.Second), takes(2 * time.Second), takes(time.Second)}, 2,
			func(i int) { starts = append(starts, fmt.Sprintf("%d@%v", i, time.Since(began))) },
			func(n report) { ends = append(ends, fmt.Sprintf("%d@%v", n.call, time.Since(began))) })
		if got := strings.Join(starts, " "); got != "0@0s 1@0s 2@1s 3@3s" {
			t.Errorf("started %s", got)
		}
		if got := fmt.Sprint(out[0].Text, out[1].Text, out[2].Text, out[3].Text); got != "3s1s2s1s" {
			t.Errorf("outcomes %s", got)
		}
		if len(ends) != 4 || time.Since(began) != 4*time.Second {
			t.Errorf("ended %v after %v", ends, time.Since(began))
		}
	})
}

func TestDispatchFailureAffectsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		jobs := []job{
			{def: does("panics", func(context.Context, Input) (Output, error) { panic("secret") })},
			{def: does("exits", func(context.Context, Input) (Output, error) { runtime.Goexit(); return Output{}, nil })},
			{def: does("hangs", func(context.Context, Input) (Output, error) { <-free; return Output{Text: "late"}, nil })},
			{def: ToolDef{Timeout: 2 * time.Second, Call: func(ctx context.Context, _ Input) (Output, error) {
				<-ctx.Done()
				return Output{}, errors.New("the request was aborted")
			}}},
			{def: does("fails", func(context.Context, Input) (Output, error) { return Output{}, errors.New("no such host") })},
			takes(3 * time.Second),
		}
		began := time.Now()
		out := dispatch(t.Context(), jobs, 10, func(int) {}, noteless)
		if time.Since(began) != DefaultToolTimeout+hangGrace {
			t.Errorf("took %v", time.Since(began))
		}
		for i, want := range []string{"the tool failed unexpectedly", "the tool failed unexpectedly", "no result in time (1m0s): the tool does not stop", "no result in time (2s)", "no such host", "<nil>"} {
			if got := fmt.Sprint(out[i].err); got != want || !out[i].started {
				t.Errorf("%d: got %q, want %q", i, got, want)
			}
		}
		if !strings.Contains(out[0].trace, "secret") || out[5].Text != "3s" {
			t.Errorf("trace %q, text %q", out[0].trace, out[5].Text)
		}
		close(free)
	})
}

func TestDispatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("stopped")
		time.AfterFunc(time.Second, func() { cancel(why) })
		began := time.Now()
		out := dispatch(ctx, []job{takes(time.Hour), takes(time.Hour), takes(time.Millisecond)}, 1, func(int) {}, noteless)
		if time.Since(began) != time.Second || !errors.Is(out[0].err, why) || !errors.Is(out[2].err, why) || !out[0].started || out[2].started {
			t.Errorf("after %v: %+v", time.Since(began), out)
		}
	})
}

func TestDispatchReportsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late func(string)
		tells := func(text string) job {
			return job{def: does("tells", func(ctx context.Context, in Input) (Output, error) {
				if text == "a" {
					late = in.Progress
				}
				for i := range 3 {
					in.Progress(fmt.Sprint(text, i))
					if err := Sleep(ctx, time.Second); err != nil {
						return Output{}, err
					}
				}
				return Output{}, nil
			})}
		}
		var got []string
		dispatch(t.Context(), []job{tells("a"), tells("b")}, 2, func(int) {}, func(n report) {
			if n.outcome == nil {
				got = append(got, n.text)
			}
		})
		late("x") // nobody receives this report
		each := map[byte]string{}
		for _, text := range got {
			each[text[0]] += text[1:]
		}
		if each['a'] != "012" || each['b'] != "012" {
			t.Errorf("told %v", got)
		}
	})
}

func TestBoundedOutput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("wörd ", 20_000)
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "noon", "noon"},
		{"nothing", "", "(no output)"},
		{"binary", "a\x00b", "[binary data of 3 bytes, which can't be shown]"},
		{"no text", strings.Repeat("\xff\xfe\x81", 10), "[binary data of 30 bytes, which can't be shown]"},
		{"a cut character", "wör\xc3", "wör\uFFFD"},
		{"a real replacement character", strings.Repeat("\uFFFD", 50), strings.Repeat("\uFFFD", 50)},
	} {
		if got := limitOutput(Output{Text: tt.in}).Text; got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	got := limitOutput(Output{Text: long}).Text
	if len(got) > maxOutput+200 || !strings.Contains(got, "the output has 120000 bytes, these were the first 65536") {
		t.Errorf("%d bytes: …%s", len(got), got[len(got)-100:])
	}
	image := Image{MediaType: "image/png", Data: []byte("x")}
	o := limitOutput(Output{
		Images: append([]Image{{MediaType: "text/html", Data: []byte("x")}, {MediaType: "image/png"}}, image, image, image, image, image, image, image, image, image),
		Files:  []File{{Name: "big\n", Content: make([]byte, maxCallBytes)}, {Name: "/tmp/small.txt", Content: []byte("x")}},
	})
	if len(o.Images) != maxCallImages || len(o.Files) != 2 || strings.Count(o.Text, "was left out") != 3 || !strings.Contains(o.Text, "the file big (") ||
		o.Files[0].Name != "image.png" || !strings.Contains(o.Text, "an image (image/png, 1 bytes) goes to the person as a file") {
		t.Errorf("%d images, %d files, text %q", len(o.Images), len(o.Files), o.Text)
	}
	o.Files = o.Files[1:]
	large := limitOutput(Output{Images: []Image{{MediaType: "image/jpeg", Data: make([]byte, maxImage+1)}, image}})
	if len(large.Images) != 1 || len(large.Files) != 1 || large.Files[0].Name != "image.jpg" {
		t.Errorf("%d images, %d files, text %q", len(large.Images), len(large.Files), large.Text)
	}
	var names []string
	for _, f := range (Output{Images: []Image{{MediaType: "image/jpeg; q=1"}, {MediaType: "image/svg+xml"}}, Files: o.Files}).files("draw") {
		names = append(names, f.Name)
	}
	names = append(names, Output{Images: []Image{image}}.files("draw")[0].Name)
	if fmt.Sprint(names) != "[draw-1.jpg draw-2.svg small.txt draw.png]" {
		t.Errorf("files %v", names)
	}
	if o := limitOutput(Output{Images: []Image{{MediaType: "image/png; x=\"\r\n\"", Data: []byte("x")}, {MediaType: "Image/PNG; q=1", Data: []byte("x")}}}); len(o.Images) != 1 || o.Images[0].MediaType != "image/png" {
		t.Errorf("images %+v", o.Images)
	}
}

// A tool may return a huge text. The agent must process only the beginning, which the model gets, so that the call does not
// take long.
func TestHugeOutput(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 256<<20)
	began := time.Now()
	if got := limitOutput(Output{Text: huge}).Text; len(got) > maxOutput+200 || !strings.Contains(got, "the output has 268435456 bytes, these were the first 65536") {
		t.Errorf("got %d bytes: …%s", len(got), got[len(got)-100:])
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if got := limitOutput(Output{Text: strings.Repeat("\x00x", 40<<10)}).Text; got != "[binary data of 81920 bytes, which can't be shown]" {
		t.Errorf("got %q", got)
	}
	tools := toolbox{does("fail", func(context.Context, Input) (Output, error) { return Output{}, errors.New(huge) })}
	got := runTurn(t, t.Context(), Options{Tools: tools}, streamed, called("", "fail {}"), answer{deltas: texts("I see.")})
	if last := got.Append[1].Text; got.Text != "I see." || len(last) > maxError+20 || len(got.log) > 3*maxError {
		t.Errorf("%q, told %d bytes, logged %d", got.Text, len(last), len(got.log))
	}
}

// If a call of a tool fails, the log reports the failure. The tool's own error text may quote a person, so it goes only to the
// model.
func TestLogContainsNoToolOutput(t *testing.T) {
	t.Parallel()
	tools := toolbox{
		does("fail", func(context.Context, Input) (Output, error) {
			return Output{}, errors.New("no entry for my secret diary")
		}),
		does("panic", func(context.Context, Input) (Output, error) { panic("everything is broken") }),
	}
	got := runTurn(t, t.Context(), Options{Tools: tools}, streamed, called("", "fail {}", "panic {}"), answer{deltas: texts("I see.")})
	if got.Append[1].Text != "Error: no entry for my secret diary." {
		t.Errorf("the model is told %q", got.Append[1].Text)
	}
	if strings.Contains(got.log, "diary") || !strings.Contains(got.log, "tool=fail error=\"the model got an error text of 28 bytes\"") ||
		!strings.Contains(got.log, errPanicked.Error()) {
		t.Errorf("the log has\n%s", got.log)
	}
}

func TestExtension(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"image/jpeg; q=1": "jpg", "image/svg+xml": "svg", "image/png": "png", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/ogg": "ogg",
		"application/gzip": "gz", "application/pdf": "pdf", "text/plain": "txt", "text/csv": "csv", "application/x-sh": "bin", "a/..b": "bin", "": "bin",
	} {
		if got := Extension(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plan.txt": "plan.txt", "../../etc/passwd": "passwd", `C:\boot.ini`: "boot.ini", "a\r\nX: b.txt": "a X b.txt",
		"photo\u202egpj.exe": "photo gpj.exe", "": "file", "..": "file", "dir/": "file", "été.md": "été.md",
		strings.Repeat("é", 80) + ".tar.gz": strings.Repeat("é", 48) + ".gz",
		strings.Repeat("x", 200):            strings.Repeat("x", 100),
	} {
		if got := FileName(in, "file"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
