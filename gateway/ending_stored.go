package gateway

import (
	"encoding/json"
	"fmt"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// storedEnding is the JSON form in which the store keeps how a reply ends. This program must be able to read the
// endings that older versions stored; testdata/ending has an example of each version. A change that an older program
// would misread needs a new endingVersion, and a decoder for the previous version.
type storedEnding struct {
	Version int          `json:"version"`
	Text    string       `json:"text,omitempty"`
	Cut     bool         `json:"cut,omitempty"`
	Note    string       `json:"note,omitempty"`
	Keep    bool         `json:"keep,omitempty"`
	Stopped bool         `json:"stopped,omitempty"`
	Stand   bool         `json:"stand,omitempty"`
	At      time.Time    `json:"at,omitzero"`
	Files   []storedFile `json:"files,omitempty"`
}

type storedFile struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Content   []byte `json:"content"`
}

// endingVersion is the version of the stored form that this program writes.
const endingVersion = 1

// endingV0 is version 0 of the stored form, which had neither a version field nor JSON tags.
type endingV0 struct {
	Text, Note                string
	Cut, Keep, Stopped, Stand bool
	At                        time.Time
	Files                     []struct {
		Name, MediaType string
		Content         []byte
	}
}

// encodeEnding encodes an ending for the store.
func encodeEnding(e preview.Ending) []byte {
	s := storedEnding{
		Version: endingVersion, Text: e.Text, Cut: e.Cut, Note: e.Note, Keep: e.Keep, Stopped: e.Stopped, Stand: e.Stand, At: e.At,
	}
	for _, f := range e.Files {
		s.Files = append(s.Files, storedFile(f))
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Errorf("encode an ending: %w", err)) // marshalling these types can't fail
	}
	return b
}

// decodeEnding decodes a stored ending.
func decodeEnding(b []byte) (preview.Ending, error) {
	var s storedEnding
	if err := json.Unmarshal(b, &s); err != nil {
		return preview.Ending{}, err
	}
	switch s.Version {
	case endingVersion:
	case 0:
		var old endingV0
		if err := json.Unmarshal(b, &old); err != nil {
			return preview.Ending{}, err
		}
		s = storedEnding{Text: old.Text, Cut: old.Cut, Note: old.Note, Keep: old.Keep, Stopped: old.Stopped, Stand: old.Stand, At: old.At}
		for _, f := range old.Files {
			s.Files = append(s.Files, storedFile(f))
		}
	default:
		return preview.Ending{}, fmt.Errorf("version %d is newer than this program, which knows %d", s.Version, endingVersion)
	}
	e := preview.Ending{Text: s.Text, Cut: s.Cut, Note: s.Note, Keep: s.Keep, Stopped: s.Stopped, Stand: s.Stand, At: s.At}
	for _, f := range s.Files {
		e.Files = append(e.Files, chat.File(f))
	}
	return e, nil
}
