package responses

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"telex/agent/scan"
)

// plainDelta is an event of the usual kind: a piece of text.
type plainDelta struct {
	itemID []byte // valid as long as the event
	index  int
	text   string
}

// readPlain reads an event of the usual kind, with nothing else in it that matters. Of anything unusual it
// returns false, and the event is decoded in full, which costs several times as much; of events that it knows
// it says the same as decoding does.
func readPlain(event []byte) (d plainDelta, ok bool) {
	s := scan.New(event)
	var kind, item, delta, index []byte
	once := func(where *[]byte) bool {
		if *where != nil {
			return false
		}
		quoted, isText := s.Quoted()
		*where = quoted
		return isText
	}
	ok = s.Object(func(key []byte) bool {
		switch string(key) {
		case "type":
			return once(&kind)
		case "item_id":
			return once(&item)
		case "delta":
			return once(&delta)
		case "output_index":
			if index != nil {
				return false
			}
			digits, isNumber := s.Digits()
			index = digits
			return isNumber
		case "sequence_number", "content_index":
			return s.Number()
		case "obfuscation":
			_, isText := s.Quoted()
			return isText
		case "logprobs":
			return s.Token('[') && s.Token(']')
		default:
			return false
		}
	})
	if !ok || !s.End() || !utf8.Valid(event) || string(kind) != `"response.output_text.delta"` || len(item) < 2 || delta == nil || index == nil {
		return d, false
	}
	var err error
	if d.index, err = strconv.Atoi(string(index)); err != nil {
		return d, false
	}
	d.itemID = item[1 : len(item)-1]
	if bytes.IndexByte(d.itemID, '\\') >= 0 {
		return d, false
	}
	d.text, ok = scan.Unquote(delta)
	return d, ok
}
