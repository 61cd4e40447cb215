package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"telex/standin/telegram"
)

// tides returns the text and entities that a person must see after "Explain the tides". The text and the entities were
// written by hand from the model's Markdown.
func tides(t *testing.T) (text string, entities []telegram.Entity) {
	t.Helper()
	data, err := os.ReadFile("testdata/tides.txt")
	if err != nil {
		t.Fatal(err)
	}
	return unmark(t, strings.TrimSuffix(string(data), "\n"))
}

// unmark parses a text with marks for entities. «type» or «type argument» begins an entity, and «» ends the innermost
// open entity.
func unmark(t *testing.T, marked string) (text string, entities []telegram.Entity) {
	t.Helper()
	var open []int
	length := 0 // length of text, in UTF-16 units
	for {
		before, rest, found := strings.Cut(marked, "«")
		text += before
		length += len(utf16.Encode([]rune(before)))
		if !found {
			break
		}
		mark, after, closed := strings.Cut(rest, "»")
		if !closed {
			t.Fatalf("a mark is not closed at %q", rest)
		}
		marked = after
		if mark == "" {
			last := len(open) - 1
			entities[open[last]].Length = length - entities[open[last]].Offset
			open = open[:last]
			continue
		}
		kind, argument, _ := strings.Cut(mark, " ")
		e := telegram.Entity{Type: kind, Offset: length}
		switch kind {
		case "text_link":
			e.URL = argument
		case "pre":
			e.Language = argument
		}
		open = append(open, len(entities))
		entities = append(entities, e)
	}
	if len(open) > 0 {
		t.Fatalf("%d marks are not ended", len(open))
	}
	return text, entities
}

// checkTides compares a version of a message with the text and entities that the function tides returns.
func checkTides(t *testing.T, got telegram.Version) {
	t.Helper()
	text, entities := tides(t)
	if got.Text != text {
		t.Errorf("text\ngot  %q\nwant %q", got.Text, text)
	}
	for i := range max(len(got.Entities), len(entities)) {
		var g, w telegram.Entity
		if i < len(got.Entities) {
			g = got.Entities[i]
		}
		if i < len(entities) {
			w = entities[i]
		}
		if !reflect.DeepEqual(g, w) {
			t.Errorf("entity %d\ngot  %+v\nwant %+v", i, g, w)
		}
	}
}

func TestUnmark(t *testing.T) {
	t.Parallel()
	text, entities := unmark(t, "🌊 «bold»a «italic»é🌊«» b«» «text_link http://x»c«»")
	want := []telegram.Entity{
		{Type: "bold", Offset: 3, Length: 7},
		{Type: "italic", Offset: 5, Length: 3},
		{Type: "text_link", Offset: 11, Length: 1, URL: "http://x"},
	}
	if text != "🌊 a é🌊 b c" || !reflect.DeepEqual(entities, want) {
		t.Errorf("got %q %+v\nwant %+v", text, entities, want)
	}
}
