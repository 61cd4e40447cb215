// Package pdf reads the text of a PDF file, within limits of time, memory and output, whatever the file holds.
//
// A file is read the way in which damaged files are repaired: the package looks for the objects themselves and
// ignores the tables that say where they are. Text comes in the order in which the file draws it, which is the
// reading order for nearly all programs that write PDF. Encrypted files are not read.
//
// Every step and every decoded byte is charged to one budget, so that no file can keep the reader busy or make it
// hold more than about 100 MB besides the file: streams that unpack to gigabytes, references in a circle and deep nesting only use the
// budget up. ADR 17 says why no library is used.
package pdf

import "errors"

// ErrUnreadable means that the file is no PDF, is damaged beyond repair or is encrypted.
var ErrUnreadable = errors.New("the PDF can't be read")

// Limits of one file.
const (
	maxWork     = 100 << 20 // steps: about one for each byte that is looked at or decoded
	maxObjects  = 200_000
	maxStream   = 8 << 20  // bytes of one decoded stream
	maxKept     = 16 << 20 // bytes of decoded object streams, which are kept
	maxElements = 1 << 16  // of an array or a dictionary; the rest is ignored
	maxDepth    = 64       // of nested objects, pages and forms
	maxRefs     = 16       // references that lead to each other
	maxFilters  = 4        // of one stream
	maxFonts    = 256
	maxMapped   = 200_000 // characters in the tables of all fonts
	maxTree     = 20_000  // pages that are counted
	maxStack    = 64      // operands and saved graphics states
)
