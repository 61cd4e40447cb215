package receiving

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Decode decodes a JSON payload into a value of type T. The errors of Decode contain no part of the payload's content.
func Decode[T any](data []byte) (*T, error) {
	v := new(T)
	err := json.Unmarshal(data, v)
	if err == nil {
		return v, nil
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, fmt.Errorf("%s is not a %s", mismatch.Field, mismatch.Type)
	}
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return nil, errors.New("invalid time")
	}
	return nil, errors.New("malformed JSON")
}

// Recover turns a panic into an error, so that a message that causes a panic does not block later messages. The error
// that Recover sets contains no part of the message's content. Recover works only if a function defers it directly, as
// in defer Recover(operation, &err).
func Recover(operation string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: panic: %T", operation, p)
	}
}
