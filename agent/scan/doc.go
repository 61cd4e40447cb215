// Package scan reads the JSON of the usual event of an answer, of which there is one for every word,
// without decoding it. It knows no API: the packages that use it say which document is usual.
package scan
