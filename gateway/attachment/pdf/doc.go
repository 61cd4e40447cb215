// Package pdf reads the text of a PDF file. The package limits the time, the memory and the amount of text for every
// file, even a malicious one.
//
// The package ignores the tables that contain the positions of the objects, because they may be damaged. Instead, the
// package searches the file for objects. The package returns the text in the order in which the file draws it, which
// nearly always is the reading order. The package does not read encrypted files.
//
// Every step and every decoded byte counts toward the limit maxWork. Because of maxWork, no file can keep the reader
// busy for long or make it use more than about 100 MB in addition to the file. If a file contains streams that decode
// to gigabytes, circular references or deep nesting, reading ends when it reaches the limit. ADR 17 says why no library
// is used.
package pdf

import "errors"

// ErrUnreadable means that the file is not a PDF file, is too damaged to be read, or is encrypted.
var ErrUnreadable = errors.New("the PDF can't be read")

// These limits apply to the reading of one PDF file.
const (
	maxWork     = 100 << 20 // maximum number of steps: about one for each byte that is read or decoded
	maxObjects  = 200_000
	maxStream   = 8 << 20  // maximum size of one decoded stream, in bytes
	maxKept     = 16 << 20 // maximum size of all decoded object streams, which stay in memory, in bytes
	maxElements = 1 << 16  // maximum number of elements of an array or dictionary; further elements are ignored
	maxDepth    = 64       // maximum depth of nested objects, pages and forms
	maxRefs     = 16       // maximum length of a chain of references
	maxFilters  = 4        // maximum number of filters of one stream
	maxFonts    = 256
	maxMapped   = 200_000 // maximum number of characters in the tables of all fonts
	maxTree     = 20_000  // maximum number of pages that are counted
	maxStack    = 64      // maximum number of operands, and of saved graphics states
)
