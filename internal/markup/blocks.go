package markup

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// flattener converts the blocks of parsed documents to visible text with formats.
type flattener struct {
	builder
	shape Shape
	open  bool // more text may follow, so an empty list item at the end is not shown yet
	folds folds
}

// flatten lays out the blocks of the documents in docs, one below the other. Source offsets in the result count from
// the start of the whole source: flatten adds the document's base to each offset in a document.
func flatten(shape Shape, open bool, docs ...based) laid {
	var out laid
	f := flattener{shape: shape, open: open}
	f.tab = shape.Tab
	size := 0
	for _, d := range docs {
		size = max(size, len(d.src))
	}
	f.text = make([]byte, 0, size+size/8)
	for _, d := range docs {
		f.src, f.base = d.src, d.base
		for i, blk := range d.blocks {
			before := len(f.text)
			f.separate(blk.node, before > 0)
			if i == 0 && d.blank {
				f.breakLine(2)
			}
			f.block(blk.node, 0)
			if len(f.text) == before {
				continue
			}
			start := before
			for start < len(f.text) && before > 0 && f.text[start] == '\n' {
				start++
			}
			f.newline, f.space = 0, false
			out.blocks = append(out.blocks, laidBlock{start: start, end: len(f.text), source: d.base + blk.start})
		}
	}
	f.unfold(0)
	out.text, out.anchors = string(f.text), f.anchors
	for _, format := range f.formats {
		if format.End > format.Start {
			out.formats = append(out.formats, format)
		}
	}
	return out
}

// based is a document that begins at offset base of the whole source. The field blank says whether a blank line
// precedes the document.
type based struct {
	document
	base  int
	blank bool
}

// separate requests the line breaks between a block and the block above: a blank line if the source has one, otherwise
// a single line break. Unlike CommonMark, separate decides for each list item and not for the whole list. If a blank
// line arrives later in a list, the items above the blank line therefore stay unchanged.
func (f *flattener) separate(n ast.Node, above bool) {
	if !above {
		return
	}
	breaks := 1
	if pos := position(n); pos >= 0 && blankBefore(f.src, pos) {
		breaks = 2
	}
	f.breakLine(breaks)
}

// children lays out the child blocks of a container.
func (f *flattener) children(n ast.Node, depth int) {
	before := len(f.text)
	f.contained(func() {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			f.separate(c, len(f.text) > before)
			f.block(c, depth)
		}
	})
}

func (f *flattener) block(n ast.Node, depth int) {
	switch n := n.(type) {
	case *ast.Heading:
		f.styled(n, Format{Style: Heading, Level: n.Level})
	case *ast.Blockquote:
		i := f.builder.open(Format{Style: Quote})
		f.children(n, depth)
		f.close(i)
	case *ast.List:
		f.list(n, depth)
	case *ast.FencedCodeBlock:
		f.code(n.Lines(), string(n.Language(f.src)))
	case *ast.CodeBlock:
		f.code(n.Lines(), "")
	case *ast.HTMLBlock:
		f.html(n)
	case *displayNode:
		f.display(n)
	case *ast.ThematicBreak:
		f.flush()
		f.anchor(n.Pos(), 0)
		f.write([]byte(f.shape.Rule), -1)
	case *extast.Table:
		f.table(n)
	case *ast.LinkReferenceDefinition:
		// A link definition shows nothing, because it only defines the destination of links.
	default:
		f.paragraph(n)
	}
}

// list lays out a list. list indents the second and later lines of an item by the width of the item's marker.
func (f *flattener) list(n *ast.List, depth int) {
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if f.open && f.atEnd(c) && empty(c) {
			return
		}
		mark := f.mark(n, c, number, depth)
		f.separate(c, c.PreviousSibling() != nil)
		f.flush()
		if box := taskBox(c); box != nil && f.shape.Extras.Has(Tasks) {
			f.task(mark, box.IsChecked)
		}
		if f.shape.Extras.Has(Lists) {
			own, _, _ := strings.Cut(mark, " ") // in a numbered list, the number comes first, and the box of a task may follow
			f.formats = append(f.formats, Format{Style: Item, Start: len(f.text), End: len(f.text) + len(own), Level: depth + 1})
		}
		f.write([]byte(mark), -1)
		f.space = true
		indent := f.indent
		f.indent += strings.Repeat(" ", utf8.RuneCountInString(mark)+1)
		f.item(c, depth+1)
		f.indent, f.space = indent, false
		number++
	}
}

// mark returns the marker of a list item: a bullet, a number, or the box of a task.
func (f *flattener) mark(list *ast.List, item ast.Node, number, depth int) string {
	bullets := f.shape.Bullets
	mark := bullets[min(depth, len(bullets)-1)]
	if list.IsOrdered() {
		mark = strconv.Itoa(number) + string(list.Marker)
	}
	box := taskBox(item)
	if box == nil {
		return mark
	}
	state := f.shape.Todo
	if box.IsChecked {
		state = f.shape.Done
	}
	if list.IsOrdered() {
		return mark + " " + state
	}
	return state
}

// task adds the format of a task's box. After calling task, the caller writes the list marker in the parameter mark,
// which ends with the box.
func (f *flattener) task(mark string, done bool) {
	end := len(f.text) + len(mark)
	box, level := f.shape.Todo, 0
	if done {
		box, level = f.shape.Done, 1
	}
	f.formats = append(f.formats, Format{Style: Task, Start: end - len(box), End: end, Level: level})
}

func taskBox(item ast.Node) *extast.TaskCheckBox {
	if item.FirstChild() == nil {
		return nil
	}
	box, _ := item.FirstChild().FirstChild().(*extast.TaskCheckBox)
	return box
}

// item lays out the content of a list item. Blocks such as a code block begin on a new line below the item's marker.
func (f *flattener) item(n ast.Node, depth int) {
	switch n.FirstChild().(type) {
	case *ast.FencedCodeBlock, *ast.CodeBlock, *extast.Table, *ast.List:
		f.breakLine(1)
	}
	f.children(n, depth)
}

// empty reports whether a block shows no text.
func empty(n ast.Node) bool {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Type() == ast.TypeInline || !empty(c) {
			return false
		}
	}
	_, rule := n.(*ast.ThematicBreak)
	return !rule && (n.Type() == ast.TypeInline || n.Lines() == nil || n.Lines().Len() == 0)
}

// atEnd reports whether the block n is the last block of the source.
func (f *flattener) atEnd(n ast.Node) bool {
	for ; n != nil; n = n.Parent() {
		if n.NextSibling() != nil {
			return false
		}
	}
	return true
}

// code lays out a code block. code does not indent code in a list, so that people can copy the code unchanged.
func (f *flattener) code(lines *text.Segments, language string) {
	end := lines.Len()
	blank := func(i int) bool {
		s := lines.At(i)
		return strings.TrimSpace(string(s.Value(f.src))) == ""
	}
	for end > 0 && blank(end-1) {
		end--
	}
	start := 0
	for start < end && blank(start) {
		start++
	}
	if start == end {
		return
	}
	f.preformatted(language, func() {
		for i := start; i < end; i++ {
			s := lines.At(i)
			f.write([]byte(strings.TrimRight(string(s.Value(f.src)), "\r\n")), s.Start)
			f.newline++
		}
	})
}

// preformatted begins a code block, calls the function write, which writes the code, and ends the block.
func (f *flattener) preformatted(language string, write func()) {
	indent := f.indent
	f.indent = ""
	f.flush()
	f.raw = true
	i := f.builder.open(Format{Style: Pre, Language: language})
	write()
	f.close(i)
	f.raw = false
	f.newline = 0
	f.indent = indent
}

func (f *flattener) html(n *ast.HTMLBlock) {
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		if f.shape.Extras.Has(Details) && n.HTMLBlockType == ast.HTMLBlockType6 {
			f.htmlLine(s.Value(f.src), s.Start, f.open && i == n.Lines().Len()-1 && f.atEnd(n))
		} else {
			f.literalHTML(s.Value(f.src), s.Start)
		}
	}
	if n.HasClosure() {
		f.literalHTML(n.ClosureLine.Value(f.src), n.ClosureLine.Start)
	}
	if f.folds.summary > 0 { // the end tag of the summary is missing in the source
		f.endSummary()
	}
	f.newline = 0
}
