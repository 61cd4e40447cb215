// Package attachment converts attachments for a model: text and documents into clean UTF-8, and pictures into small
// ones without metadata such as place and author. It trusts no file. The type of a file depends on its content; the
// sender's claim counts only if the content is ambiguous. The decoded size of a picture is checked before decoding.
// Documents are read as a stream, with limits of size and time.
//
// A Reader converts messages and their attachments into a question for the model. To limit memory, it handles only a few
// questions at a time.
package attachment

import "errors"

// ErrUnreadable means that the content is damaged or has another type than expected.
var ErrUnreadable = errors.New("the content can't be read")

// ErrTooBig means that decoding the picture would take too much memory.
var ErrTooBig = errors.New("the picture is too big")
