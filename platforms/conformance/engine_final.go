package conformance

import (
	"slices"
	"strings"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// finalCases returns the cases about what people see while an answer grows, and at its end.
func finalCases() []testCase {
	return []testCase{
		{"D1: a short answer is shown unchanged, once, without a cursor", func(s *scene) {
			h := s.newGateway(map[string]answer{"at-once": {text: "Hello."}, "slowly": {text: "Hello there, friend.", each: time.Second}}, nil)
			for _, to := range h.both() {
				h.ask(to, "at-once")
				pass(settleTime)
				h.wantReply(to, "Hello.")
				h.ask(to, "slowly")
				pass(settleTime)
				h.wantShown(to, "Hello.", "Hello there, friend.")
			}
			n := len(h.Versions(h.Private()))
			pass(time.Hour) // F38: no call may follow the end of the answer
			if got := len(h.Versions(h.Private())); got != n {
				h.Errorf("%d versions more came after the end", got-n)
			}
		}},
		{"no link preview is shown, unless the asker typed all addresses in the message", func(s *scene) {
			const asked = "https://asked.example.org/a"
			answers := map[string]answer{
				"same":   {text: "This is " + asked + ", as you know."},
				"longer": {text: "This is " + asked + "?q=secret and that is " + asked},
				"other":  {text: "This is " + asked + " and that is [this](https://leak.example.org/secret)."},
				"bare":   {text: "This is " + asked + " and that is secret.leak.example.org"},
			}
			for _, tt := range []struct {
				on       bool
				question string
				typed    bool // the asker typed the address with which the answer begins
				all      bool // the answer contains no address that the asker did not type
			}{
				{false, "same " + asked, false, false},
				{true, "same", false, false},
				{true, "same " + asked, true, true},
				{true, "longer " + asked, true, false},
				{true, "other " + asked, true, false},
				{true, "bare " + asked, true, false},
			} {
				h := s.newGateway(answers, func(h *testGateway) { h.previews = tt.on })
				for _, to := range h.both() {
					shown, opened := len(h.Shown(to)), len(h.Opened(to))
					h.ask(to, tt.question)
					pass(settleTime)
					if got := len(h.Shown(to)) - shown; got != 1 {
						h.Fatalf("%q has %d answers", tt.question, got)
					}
					got := h.Opened(to)[opened:]
					if foreign := slices.ContainsFunc(got, func(a string) bool { return a != asked }); foreign || !tt.typed && len(got) > 0 || tt.all && len(got) == 0 && s.previews() {
						h.Errorf("on is %t, %q: opened are %q", tt.on, tt.question, got)
					}
				}
				h.end()
			}
		}},
		{"D1: the final shows every kind of formatting correctly", func(s *scene) {
			h := s.newGateway(map[string]answer{"sample": {text: Sample}}, nil)
			for _, to := range h.both() {
				h.ask(to, "sample")
				pass(settleTime)
				h.wantReply(to, h.Sample())
			}
		}},
		{"D1: a long answer is shown in parts, complete and in order, with every transport", both(func(s *scene, to chat.Target) {
			text := prose(s.adapter.Profile(to).TextLimit * 5 / 2)
			for name, transport := range s.transports(to) {
				h := s.newGateway(map[string]answer{"long": flowing(text)}, func(h *testGateway) { h.config.Transport = transport })
				before := len(h.Shown(to))
				h.ask(to, "long")
				pass(settleTime)
				if got := strings.Join(h.Shown(to)[before:], " "); got != text {
					h.Errorf("by %s: shown is %q, want %q", name, got, text)
				}
				if got := len(h.Shown(to)) - before; got != 3 {
					h.Errorf("by %s: the answer has %d parts, want 3", name, got)
				}
				h.wantGrowth(to, text)
				h.end()
			}
		})},
		{"D1, D7: code, tables and lists that continue over several parts are well-formed in each", people(func(s *scene) {
			limit := s.adapter.Profile(s.Private()).TextLimit
			code := "Before:\n\n```\n" + strings.Repeat("if a == b { c = d }\n", limit/10) + "```\n\nAfter."
			table := "| Name | Size |\n|---|---|\n" + strings.Repeat("| entry | 12345 |\n", limit/8) + "\nAfter."
			list := strings.Repeat("- an *item* with `code` and **bold words in it**\n  - below\n", limit/20)
			answers := map[string]answer{}
			for word, text := range map[string]string{"code": code, "table": table, "list": list} {
				answers[word] = flowing(text)
			}
			h := s.newGateway(answers, func(h *testGateway) { h.config.MaxParts = 16 })
			for i, to := range h.Crowd(3) {
				word, text := []string{"code", "table", "list"}[i], []string{code, table, list}[i]
				h.ask(to, word)
				pass(settleTime)
				if got, want := letters(h.joined(to)), letters(text); got != want {
					h.Errorf("%s: shown are %d letters, want %d: %.300q", word, len(got), len(want), h.Shown(to))
				}
				if len(h.Shown(to)) < 2 {
					h.Errorf("%s: the answer has %d parts, want several", word, len(h.Shown(to)))
				}
				h.wantGrowth(to, text)
				h.wantValid(to)
			}
		})},
		{"D7: previews never cut graphemes, links or marks (F26, F29, F31)", edited(func(s *scene) {
			text := "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪🇫🇷 é ñ ẅ नमस्ते **bold *and italic* words** ~~gone~~ `co*de` " +
				"a **bold [link with words](https://example.org/a_b?c=d&e=f) inside** and ***all*** of\n\n" +
				"> a **quote**\n\n1. one\n   ```\n   x **y\n   ```\n2. `two`\n\n" + strings.Repeat("👨‍👩‍👧 __x__ ", 40)
			h := s.newGateway(map[string]answer{"marks": {text: text, each: 400 * time.Millisecond}}, func(h *testGateway) { h.config.Interval = 300 * time.Millisecond })
			to := h.Private()
			h.ask(to, "marks")
			pass(settleTime)
			h.wantValid(to)
			h.wantGrowth(to, h.joined(to))
			if got := len(h.Versions(to)); got < 20 {
				h.Errorf("there were %d versions, want many", got)
			}
			if shown := h.joined(to); strings.Contains(shown, "▌") || !strings.Contains(shown, "🇩🇪🇫🇷 é ñ ẅ नमस्ते") {
				h.Errorf("shown is %q", shown)
			}
		})},
	}
}

// overflowCases returns the cases about complete answers whose text people already see, and about answers that are too
// long for one message.
func overflowCases() []testCase {
	return []testCase{
		{"D2: if an edit already shows the final, nothing more is sent", with((*scene).editor, func(s *scene, _ preview.Editor) {
			h := s.newGateway(map[string]answer{"quiet": {text: prose(200), tail: 20 * time.Second}}, func(h *testGateway) { h.config.Cursor = "" })
			for _, to := range h.both() {
				h.ask(to, "quiet")
				pass(15 * time.Second) // by now the whole text is visible, but the model has not ended its answer
				h.wantShown(to, prose(200))
				sends, edits := h.Calls(chat.OpSend), h.Calls(chat.OpEdit)
				pass(settleTime)
				h.wantReply(to, prose(200))
				h.wantCalls(chat.OpSend, sends)
				h.wantCalls(chat.OpEdit, edits)
			}
		})},
		{"D2: the final of an answer with drafts is a message", drafts(func(s *scene, _ preview.Drafter, to chat.Target) {
			h := s.newGateway(map[string]answer{"quiet": {text: prose(200), tail: time.Minute}}, func(h *testGateway) { h.config.Transport = preview.Draft })
			h.ask(to, "quiet")
			pass(50 * time.Second) // wait longer than a draft stays visible if the bot does not renew the draft
			h.wantDrafts(to, prose(200)+cursor)
			h.wantShown(to)
			pass(settleTime)
			h.wantDrafts(to)
			h.wantReply(to, prose(200))
		})},
		{"D8: a full part is not edited any more, and the text continues in the next one (F16)", inBoth((*scene).editor, func(s *scene, _ preview.Editor, to chat.Target) {
			text := prose(s.adapter.Profile(to).TextLimit * 3 / 2)
			long := flowing(text)
			long.tail = 30 * time.Second
			h := s.newGateway(map[string]answer{"long": long}, nil)
			h.ask(to, "long")
			h.until("that a second part is shown", func() bool { return len(h.Shown(to)) == 2 })
			if first := h.Shown(to)[0]; strings.Contains(first, "▌") || !strings.HasPrefix(text, first) {
				h.Errorf("the first part is %q when the second begins", first)
			}
			first := h.Versions(to)[0].Message
			sealed := time.Now()
			pass(settleTime)
			for _, v := range h.Versions(to) {
				if v.Message == first && v.At.After(sealed) {
					h.Errorf("the first part was changed after the second began: %q", v.Text)
				}
			}
			h.wantJoined(to, text)
			h.end()
		})},
		{"D8, F52: beyond the maximum number of parts, the rest is sent as a file, or as more parts", func(s *scene) {
			text := prose(max(30_000, min(4*s.adapter.Profile(s.Private()).TextLimit, 150_000)))
			h := s.newGateway(map[string]answer{"long": {text: text, each: 2 * time.Millisecond}}, func(h *testGateway) { h.config.MaxParts = 3 })
			for _, to := range h.both() {
				h.ask(to, "long")
				pass(settleTime)
				shown, files := h.Shown(to), h.Files(to)
				if !h.adapter.Capabilities().File {
					if got := strings.Join(shown, " "); got != text {
						h.Errorf("shown is %q, want the text", got)
					}
					continue
				}
				if len(shown) != 4 || len(files) != 1 || shown[3] == "" || shown[3] != files[0].Caption || strings.HasPrefix(shown[3], "word") {
					h.Fatalf("%d messages and %d files stand: %.200q", len(shown), len(files), shown)
				}
				whole := strings.Join(shown[:3], " ") + " " + string(files[0].Content)
				if strings.Join(strings.Fields(whole), " ") != text {
					h.Errorf("the parts and the file are not the text: %.300q", whole)
				}
				h.wantGrowth(to, text+" "+shown[3])
			}
		}},
	}
}
