package attachment

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"telex/gateway/history"
)

// These limits apply to the reading of one workbook.
const (
	maxSheets  = 100
	maxColumns = 200
	maxRows    = 20_000   // maximum number of rows that are read from each sheet
	maxShared  = 100_000  // maximum number of shared texts, to which cells refer
	maxSharing = 16 << 20 // maximum size of the shared texts, in bytes
	maxCell    = 2000     // maximum number of bytes of text that are read from one cell
)

// workbook is an XLSX file (ISO/IEC 29500-1, SpreadsheetML).
type workbook struct {
	*archive
	out    *bounded
	shared []string
	dates  []bool // for each cell format, whether it shows a date
	epoch  time.Time
}

// workbook reads the sheets of an XLSX file: a row becomes a line, with tabs between its cells. A cell with a formula
// is written as the value of the formula. rest describes which part of the workbook is missing in the text.
func (a *archive) workbook(out *bounded) (rest string, err error) {
	w := workbook{archive: a, out: out, epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	sheets, err := w.sheets()
	if err != nil {
		return "", err
	}
	if a.has("xl/sharedStrings.xml") {
		if err := w.readShared(); err != nil {
			return "", err
		}
	}
	if a.has("xl/styles.xml") {
		if err := w.readStyles(); err != nil {
			return "", err
		}
	}
	for i, s := range sheets {
		out.separate("\n\n")
		out.add("Sheet: " + history.OneLine(s.name, maxName))
		rows, all, err := w.readSheet(s.path)
		others := ""
		if n := len(sheets) - i - 1; n > 0 {
			others = fmt.Sprintf(", and %d more sheets are not shown", n)
		}
		if out.truncated || err != nil {
			return fmt.Sprintf("the first %d rows of this sheet are shown%s", rows, others), nil
		}
		if !all {
			out.separate("\n")
			out.add(fmt.Sprintf("[this sheet goes on: its first %d rows and %d columns are shown]", rows, maxColumns))
		}
	}
	return "", nil
}

type sheet struct{ name, path string }

// sheets returns the names and the files of the sheets.
func (w *workbook) sheets() ([]sheet, error) {
	paths := make(map[string]string)
	err := w.walk("xl/_rels/workbook.xml.rels", func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "Relationship" && len(paths) < 10*maxSheets {
			paths[attribute(e, "Id")] = resolveLink("xl/workbook.xml", attribute(e, "Target"))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var sheets []sheet
	err = w.walk("xl/workbook.xml", func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case e.Name.Local == "workbookPr" && (attribute(e, "date1904") == "1" || attribute(e, "date1904") == "true"):
			w.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
		case e.Name.Local == "sheet" && len(sheets) < maxSheets:
			sheets = append(sheets, sheet{attribute(e, "name"), paths[relation(e)]})
		}
		return nil
	})
	return sheets, err
}

// relation returns the attribute r:id of a sheet.
func relation(e xml.StartElement) string {
	for _, a := range e.Attr {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// readShared reads the shared texts. Cells refer to a shared text by its number.
func (w *workbook) readShared() error {
	var text strings.Builder
	inText, phonetic, size := false, 0, 0
	return w.walk("xl/sharedStrings.xml", func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t" && phonetic == 0
			if t.Name.Local == "rPh" { // the pronunciation of the text, which is left out
				phonetic++
			}
		case xml.CharData:
			if inText {
				addCell(&text, t)
			}
		case xml.EndElement:
			inText = false
			switch t.Name.Local {
			case "rPh":
				phonetic--
			case "si":
				w.shared = append(w.shared, text.String())
				size += text.Len()
				text.Reset()
				if len(w.shared) >= maxShared || size >= maxSharing {
					return errEnough
				}
			}
		}
		return nil
	})
}

// addCell adds text to a cell, up to the limit.
func addCell(cell *strings.Builder, text []byte) {
	cell.Write(text[:min(len(text), max(0, maxCell-cell.Len()))])
}

// readStyles finds the cell formats that are dates.
func (w *workbook) readStyles() error {
	isDate := make(map[string]bool) // keys: ids of number formats
	for _, n := range []int{14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47} {
		isDate[strconv.Itoa(n)] = true
	}
	inFormats := false
	return w.walk("xl/styles.xml", func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "numFmt":
				if len(isDate) < maxSheets*10 {
					isDate[attribute(t, "numFmtId")] = writesDate(attribute(t, "formatCode"))
				}
			case "cellXfs":
				inFormats = true
			case "xf":
				if inFormats && len(w.dates) < maxShared {
					w.dates = append(w.dates, isDate[attribute(t, "numFmtId")])
				}
			}
		case xml.EndElement:
			if t.Name.Local == "cellXfs" {
				return errEnough
			}
		}
		return nil
	})
}

// writesDate reports whether a number format shows a date or a time.
func writesDate(format string) bool {
	quoted, bracket := false, false
	for _, r := range strings.ToLower(format) {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '[':
			bracket = true
		case r == ']':
			bracket = false
		case !quoted && !bracket && strings.ContainsRune("ydhs", r):
			return true
		}
	}
	return false
}

// readSheet writes the rows of a sheet to the text. readSheet returns the number of written rows, and whether these are
// all rows of the sheet.
func (w *workbook) readSheet(name string) (rows int, all bool, err error) {
	all = true
	var c cell
	var line []string
	inValue := false
	err = w.walk(name, func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			inValue = t.Name.Local == "v" || t.Name.Local == "t"
			switch t.Name.Local {
			case "row":
				line = line[:0]
			case "c":
				c = cell{place: attribute(t, "r"), kind: attribute(t, "t"), style: attribute(t, "s")}
			}
		case xml.CharData:
			if inValue {
				addCell(&c.value, t)
			}
		case xml.EndElement:
			inValue = false
			switch t.Name.Local {
			case "c":
				column := columnOf(c.place, len(line))
				if column >= maxColumns {
					all = false
					return nil
				}
				for len(line) <= column {
					line = append(line, "")
				}
				line[column] = w.text(&c)
			case "row":
				if rows++; rows > maxRows {
					all = false
					return errEnough
				}
				w.out.separate("\n")
				w.out.add(strings.TrimRight(strings.Join(line, "\t"), "\t"))
				if w.out.truncated {
					return errEnough
				}
			}
		}
		return nil
	})
	return min(rows, maxRows), all, err
}

// cell is one cell of a sheet.
type cell struct {
	place, kind, style string
	value              strings.Builder
}

// columnOf returns the column of a cell reference such as "BC12", counted from 0. columnOf returns other if the
// reference is invalid.
func columnOf(place string, other int) int {
	column := 0
	for _, r := range place {
		if r < 'A' || r > 'Z' {
			break
		}
		if column = column*26 + int(r-'A') + 1; column > math.MaxInt16 {
			return column
		}
	}
	if column == 0 {
		return other
	}
	return column - 1
}

// text returns the text of a cell roughly as a spreadsheet program shows it.
func (w *workbook) text(c *cell) string {
	value := c.value.String()
	number, err := strconv.ParseFloat(value, 64)
	index, _ := strconv.Atoi(c.style)
	switch {
	case c.kind == "s":
		i, err := strconv.Atoi(value)
		if err != nil || i < 0 || i >= len(w.shared) {
			return "[…]"
		}
		value = w.shared[i]
	case c.kind == "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[value]
	case c.kind != "" && c.kind != "n", err != nil:
	case index >= 0 && index < len(w.dates) && w.dates[index]:
		return w.date(number)
	default:
		// 15 digits, as in spreadsheet programs, so that 0.1+0.2 is shown as 0.3.
		return strconv.FormatFloat(number, 'g', 15, 64)
	}
	return strings.Join(strings.Fields(value), " ")
}

// date formats a number of days as a date, or as a time of day if the number is less than 1.
func (w *workbook) date(days float64) string {
	const lastDay = 3_000_000 // a day in the year 10113
	if days < 0 || days > lastDay {
		return strconv.FormatFloat(days, 'g', 15, 64)
	}
	whole, part := math.Modf(days)
	t := w.epoch.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*24*60*60)) * time.Second)
	switch {
	case days < 1:
		return t.Format("15:04:05")
	case t.Hour()+t.Minute()+t.Second() == 0:
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04:05")
}
