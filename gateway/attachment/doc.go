// Package attachment converts attachments into a form that a model can read. The package converts text files and
// documents to clean UTF-8, reduces pictures, and removes the metadata of pictures, such as place and author.
// Attachments may be malicious. So package attachment determines the type of a file from its content, and uses the
// sender's media type only if the content is ambiguous. The package checks the decoded size of a picture before
// decoding it. The package reads documents as a stream, with limits of size and time.
//
// A Reader converts messages and their attachments into a question for the model. To limit memory, a Reader reads the
// attachments of only a few questions at the same time.
package attachment

import "errors"

// ErrUnreadable means that the content is damaged or has another type than expected.
var ErrUnreadable = errors.New("the content can't be read")

// ErrTooBig means that decoding the picture would take too much memory.
var ErrTooBig = errors.New("the picture is too big")
