// Package pdf reads the text of a PDF file. Its time, memory and output are limited for any file.
//
// It reads each file as if its tables were damaged: it searches for the objects and ignores the tables with their
// positions. The text has the order in which the file draws it. Nearly all programs draw it in reading order. Encrypted
// files are not read.
//
// Every step and every decoded byte is charged to one budget. So no file can keep the reader busy or make it use more
// than about 100 MB besides the file. Streams that unpack to gigabytes, circular references and deep nesting only
// exhaust the budget. ADR 17 says why no library is used.
package pdf

import "errors"

// ErrUnreadable means that the file is no PDF, is damaged beyond repair or is encrypted.
var ErrUnreadable = errors.New("the PDF can't be read")

// Limits of one file.
const (
	maxWork     = 100 << 20 // steps: about one for each byte that is read or decoded
	maxObjects  = 200_000
	maxStream   = 8 << 20  // bytes of one decoded stream
	maxKept     = 16 << 20 // bytes of decoded object streams, which stay in memory
	maxElements = 1 << 16  // of an array or a dictionary; the rest is ignored
	maxDepth    = 64       // of nested objects, pages and forms
	maxRefs     = 16       // references that follow each other
	maxFilters  = 4        // of one stream
	maxFonts    = 256
	maxMapped   = 200_000 // characters in the tables of all fonts
	maxTree     = 20_000  // pages that are counted
	maxStack    = 64      // operands and saved graphics states
)
