package telegram

import "strings"

// maxTaskDepth is the maximum nesting depth of task lists. telex shows items of deeper task lists at this depth.
// https://core.telegram.org/bots/api#rich-message-limits
const maxTaskDepth = 4

// task is an item of a task list.
type task struct {
	indent int
	done   bool
	text   any
}

// tasks returns the task list that begins at a line, and the offset after the list. A line that follows a task and is
// indented more than the task belongs to the task, unless the line begins another block.
func (w *blockWriter) tasks(at, to int) (list []task, next int) {
	start := 0 // offset at which the text of the last task begins
	end := func(at int) {
		if n := len(list); n > 0 {
			text := strings.TrimSpace(w.text[start:at])
			from := start + strings.Index(w.text[start:at], text)
			list[n-1].text = w.inline(from, from+len(text), false)
		}
	}
	for next = at; at < to; {
		first, stop := w.line(at, to)
		box, ok := w.find(kindTask, at, stop)
		switch {
		case ok && box.end <= stop:
			end(at)
			list = append(list, task{indent: first - at, done: box.lang == "done"})
			start = box.end
		case len(list) == 0:
			return nil, next
		case first == stop: // the list may contain blank lines
			at = stop + 1
			continue
		case first-at <= list[len(list)-1].indent, w.beginsBlock(at, first):
			end(next)
			return list, next
		}
		at = stop + 1
		next = min(at, to)
	}
	end(next)
	return list, next
}

// beginsBlock reports whether a line begins a block that is not part of the task list.
func (w *blockWriter) beginsBlock(at, first int) bool {
	for _, kind := range []string{kindPre, kindQuote, kindHeading} {
		if _, ok := w.find(kind, at, first); ok {
			return true
		}
	}
	return false
}

// taskList converts tasks to a list block. Tasks that are indented more than the preceding task become a list inside
// the item of the preceding task.
func taskList(tasks []task, depth int) richBlock {
	out := richBlock{Type: "list"}
	for len(tasks) > 0 {
		inner := 1
		for inner < len(tasks) && tasks[inner].indent > tasks[0].indent && depth < maxTaskDepth {
			inner++
		}
		item := richItem{Checkbox: true, Checked: tasks[0].done, Blocks: []richBlock{{Type: "paragraph", Text: tasks[0].text}}}
		if inner > 1 {
			item.Blocks = append(item.Blocks, taskList(tasks[1:inner], depth+1))
		}
		out.Items, tasks = append(out.Items, item), tasks[inner:]
	}
	return out
}
