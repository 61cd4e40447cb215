// Package attachment turns attachments into what a model can read: text into clean UTF-8, pictures into small ones without
// metadata, such as where and by whom they were taken. It trusts no file: the content decides its type before the sender does,
// and the size of the decoded content is known before it is decoded.
//
// A Reader turns messages and their attachments into a question for the model. It reads only as many questions at a time as
// memory allows.
package attachment

import "errors"

// ErrUnreadable is content that is damaged, or not what was asked for.
var ErrUnreadable = errors.New("the content can't be read")

// ErrTooBig is a picture that would take too much memory to look at.
var ErrTooBig = errors.New("the picture is too big")
