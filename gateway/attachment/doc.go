// Package attachment turns what was attached to a message into what a model can read: text
// into clean UTF-8, pictures into small ones that say nothing of where and by whom they were
// taken. It trusts no bytes: what a file is its content tells, before the
// sender does, and how much it would unfold to is known before it is unfolded.
//
// A Reader makes a question for the model of messages and all that is attached to them, for so many questions at a time
// as memory allows.
package attachment

import "errors"

// ErrUnreadable is content that is damaged, or not what was asked for.
var ErrUnreadable = errors.New("the content can't be read")

// ErrTooBig is a picture that would take too much memory to look at.
var ErrTooBig = errors.New("the picture is too big")
