package telegram

import "strings"

// maxTaskDepth is how deep task lists are nested. Deeper ones are as deep as these: https://core.telegram.org/bots/api#rich-message-limits
const maxTaskDepth = 4

// task is an item of a task list.
type task struct {
	indent int
	done   bool
	text   any
}

// tasks returns the task list that begins with a line, and where the text goes on behind it. Indented lines below a task belong
// to it.
func (w *blockWriter) tasks(at, to int) (list []task, next int) {
	start := 0 // of the last task's text
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
		case first == stop: // a blank line may be within the list
			at = stop + 1
			continue
		case first-at <= list[len(list)-1].indent, w.begins(at, first):
			end(next)
			return list, next
		}
		at = stop + 1
		next = min(at, to)
	}
	end(next)
	return list, next
}

// begins reports whether a line begins a block of its own.
func (w *blockWriter) begins(at, first int) bool {
	for _, kind := range []string{kindPre, kindQuote, kindHeading} {
		if _, ok := w.find(kind, at, first); ok {
			return true
		}
	}
	return false
}

// taskList returns tasks as a list. Tasks that are indented more than the one above are a list in its item.
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
