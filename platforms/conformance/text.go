package conformance

import (
	"fmt"
	"strings"

	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/markup"
)

// textCases returns the cases about texts in the adapter's dialect.
func textCases() []testCase {
	return []testCase{
		{"every kind of formatting is shown correctly (F27, F33)", func(s *scene) {
			ref := s.show(s.Private(), Sample)
			s.wantShown(s.Private(), s.Sample())
			if e, ok := s.adapter.(preview.Editor); ok {
				for _, source := range []string{"short", Sample} {
					s.edit(e, ref, s.rendered(s.Private(), source)[0])
				}
				s.wantShown(s.Private(), s.Sample())
			}
			s.wantValid(s.Private())
		}},
		{"mentions in a model's text notify nobody (F35)", func(s *scene) {
			person := string(s.writer())
			for _, to := range s.both() {
				for _, source := range []string{
					"@everyone <!channel> <@U123> @here",
					"**@everyone** *@here* ~~<!here>~~ # <!everyone>",
					"<@" + person + "> <@!" + person + "> <@&" + person + "> @" + person,
					"<!channel|channel> <!subteam^S123|@team> <@U123|somebody> <#C123|general>",
					"- @everyone\n- <@" + person + ">\n\n> <!channel>\n\n# @here",
					"| a | b |\n|---|---|\n| @everyone | <@" + person + "> |",
					"[@everyone](https://example.org) [hi](tg://user?id=" + person + ") [hi](slack://user?id=" + person + ")",
					"`@everyone` and <https://example.org|@here>, \\@everyone, &lt;!channel&gt;, @\u200beveryone",
					"@somebody_else and user@example.org, @everyone@here, (@everyone), x@everyone",
					"```\n@everyone <!channel>\n```",
					"an open fence ``` @everyone `",
				} {
					ref := s.show(to, source)
					s.wantNone(s.Pings(to), "%q calls", source)
					e, ok := s.adapter.(preview.Editor)
					if !ok {
						continue
					}
					other := s.send(to, "one")
					for _, changed := range []chat.MessageRef{other, ref} {
						s.edit(e, changed, s.rendered(to, source+" again")[0])
					}
					s.wantNone(s.Pings(to), "%q calls after an edit", source)
				}
			}
		}},
		{"the longest allowed parts of a formatted text are accepted and shown completely (F30, F49)", both(func(s *scene, to chat.Target) {
			for _, source := range []string{
				strings.Repeat("a_b*c [d] <e> & f \\ `g` ~h~ | i > j # k\n\n", 300),
				strings.Repeat(strings.Repeat("**bold** _it_ ~~s~~ `code` [link](https://example.org/a_b?c=d&e=f) ", 8)+"\n\n", 25),
				strings.Repeat("🦊👩‍👧 ünïcödé ", 1200),
				"```go\n" + strings.Repeat("if a < b && c > d { x[`y`] = \"*z*\" }\n", 300) + "```",
				strings.Repeat("- item\n  - nested **bold**\n", 400),
				strings.Repeat("x", 9000),
			} {
				var want strings.Builder
				for i, m := range s.rendered(to, source) {
					m.Key = fmt.Sprintf("%s.%d of %.20q", to.Chat, i, source)
					receipt, err := s.adapter.Send(s.Context(), to, m)
					if err != nil {
						s.Fatalf("part %d of %.40q…: Send: %v", i, source, err)
					}
					want.WriteString(m.Plain)
					e, ok := s.adapter.(preview.Editor)
					if !ok {
						continue
					}
					for _, state := range []chat.Outgoing{outgoing("short"), m} {
						if _, err := e.Edit(s.Context(), receipt.Ref, state); err != nil {
							s.Fatalf("part %d of %.40q…: Edit: %v", i, source, err)
						}
					}
				}
				if want.Len() < 2000 {
					s.Errorf("the parts hold %d bytes of %.40q…", want.Len(), source)
				}
			}
			s.wantValid(to)
		})},
		{"a text of characters that count double is accepted up to the limit", both(func(s *scene, to chat.Target) {
			limit, d := s.adapter.Profile(to).TextLimit, s.adapter.Dialect(to)
			n := limit / max(1, d.Len(markup.Rendered{Text: "🦊"}))
			longest := strings.Repeat("🦊", n)
			ref := s.send(to, longest)
			if e, ok := s.adapter.(preview.Editor); ok {
				s.edit(e, ref, outgoing(longest[4:]))
				longest = longest[4:]
			}
			s.wantShown(to, longest)
		})},
	}
}

// rendered returns the messages for a Markdown text in a chat, in the form in which the gateway passes messages to
// the adapter.
func (s *scene) rendered(to chat.Target, source string) []chat.Outgoing {
	s.Helper()
	o := markup.Options{Dialect: s.adapter.Dialect(to), Limit: s.adapter.Profile(to).TextLimit}
	var list []chat.Outgoing
	for i, p := range markup.Layout(source, o) {
		m := chat.Outgoing{Text: p.Rendered.Text, Plain: p.Plain, Source: source, Key: fmt.Sprintf("%d of %s", i, source)}
		for _, span := range p.Rendered.Spans {
			m.Spans = append(m.Spans, chat.Span(span))
		}
		list = append(list, m)
	}
	if len(list) == 0 {
		s.Fatalf("nothing is shown of %.40q", source)
	}
	return list
}

// show sends a Markdown text that fits into one message.
func (s *scene) show(to chat.Target, source string) chat.MessageRef {
	s.Helper()
	receipt, err := s.adapter.Send(s.Context(), to, s.rendered(to, source)[0])
	if err != nil {
		s.Fatalf("Send %.40q: %v", source, err)
	}
	return receipt.Ref
}

// wantValid checks that every version that was ever visible was well-formed: no character was cut, and every Markdown
// delimiter had its partner (D7, F26, F29, F31, F32).
func (s *scene) wantValid(to chat.Target) {
	s.Helper()
	check := func(string) error { return nil } // if check stays this function, the stand-in itself refuses unpaired delimiters
	if c, ok := s.World.(Checker); ok {
		check = c.Check
	} else if strings.Contains(s.Sample(), "**") {
		check = checkMarks
	}
	for _, v := range s.Versions(to) {
		if strings.ContainsRune(v.Text, '\uFFFD') || strings.HasSuffix(v.Text, "\u200d") {
			s.Errorf("a character was cut in %q", v.Text)
		}
		if err := check(v.Text); err != nil {
			s.Errorf("shown was %q: %v", v.Text, err)
		}
	}
}
