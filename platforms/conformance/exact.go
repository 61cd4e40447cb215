package conformance

import (
	"fmt"
	"slices"
	"strings"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// exactCases returns the cases about texts that a platform must not change, and about links that a platform must not
// open.
func exactCases() []testCase {
	return []testCase{
		{"code is shown byte for byte, so that people can copy it", both(func(s *scene, to chat.Target) {
			for _, code := range []string{
				"<!DOCTYPE html> <!-- a --> <a href=\"b\">&amp; &lt;</a>", "<#if x> <#1> #include <stdio.h>",
				"<xs:element name=\"a\"/> <soap:Body>", "at 10:30:45, 2026-11-22T10:30:45+01:00", "a && b || c < d > e <= f",
				"std::map<int, T>::iterator :a:b:", "**a** *b* _c_ ~~d~~ [e](f) \\g \\\\ # h", "@Test @media @property", "<T> <?php <% x %>",
			} {
				s.show(to, "It is this:\n\n```\n"+code+"\n```\n\nand inline `"+code+"` too.")
				texts := s.Shown(to)
				if got := texts[len(texts)-1]; strings.Count(got, code) != 2 {
					s.Errorf("%q can't be copied from %q", code, got)
				}
			}
		})},
		{"a message shows link previews only if this is requested", both(func(s *scene, to chat.Target) {
			for _, source := range []string{
				"see https://leak.example.com/?q=secret now", "[a](https://leak.example.com/?q=1) and ![b](https://leak.example.com/b.png)",
				"leak.example.com/?q=2, www.leak.example.com", "**https://leak.example.com/3**", "- <https://leak.example.com/4>",
			} {
				s.showEverywhere(to, source)
				s.wantNone(s.Opened(to), "%q has the platform open", source)
			}
			if !s.previews() {
				return
			}
			const asked = "https://asked.example.org/a"
			m := s.rendered(to, "This is "+asked+" as you know.")[0]
			m.LinkPreview = asked
			if _, err := s.adapter.Send(s.Context(), to, m); err != nil {
				s.Fatalf("Send: %v", err)
			}
			if got := s.Opened(to); !slices.Equal(got, []string{asked}) {
				s.Errorf("opened are %q, want %q alone", got, asked)
			}
		})},
	}
}

// showEverywhere sends a Markdown text as a new message, as an edit, and as the caption of a file. showEverywhere sends
// the message and the edit both with and without markup.
func (s *scene) showEverywhere(to chat.Target, source string) {
	s.Helper()
	rendered := s.rendered(to, source)[0]
	for i, m := range []chat.Outgoing{rendered, {Text: source, Plain: source}} {
		m.Key = fmt.Sprintf("%s, %d", source, i)
		receipt, err := s.adapter.Send(s.Context(), to, m)
		if e, ok := s.adapter.(preview.Editor); ok && err == nil {
			m.Preview = true
			m.Text, m.Plain = "Yes: "+m.Text, "Yes: "+m.Plain
			m.Spans = slices.Clone(m.Spans)
			for i := range m.Spans {
				m.Spans[i].Offset += len("Yes: ")
			}
			_, err = e.Edit(s.Context(), receipt.Ref, m)
		}
		if err != nil {
			s.Errorf("%q: %v", m.Text, err)
		}
	}
	if f, ok := s.adapter.(preview.Filer); ok {
		rendered.Key = source + " below a file"
		if _, err := f.SendFile(s.Context(), to, rendered, chat.File{Name: "a.txt", MediaType: "text/plain", Content: []byte("a")}); err != nil {
			s.Errorf("SendFile with %q: %v", rendered.Text, err)
		}
	}
}
