package budget

import (
	"fmt"
	"testing"
	"time"

	"telex/internal/chat"
)

// BenchmarkCall measures how long the Budget takes for a call that it grants at once.
func BenchmarkCall(b *testing.B) {
	budget := New()
	c := call("a", chat.ClassPreview, perChat(1e9, time.Millisecond, 1e9), overall(1e9, time.Millisecond, 1e9))
	c.Op, c.Message = chat.OpEdit, "1"
	b.ReportAllocs()
	for b.Loop() {
		budget.Request(c).Done()
	}
}

// BenchmarkCallInACrowd measures how long the Budget takes for a call while a thousand other calls wait.
func BenchmarkCallInACrowd(b *testing.B) {
	budget := New()
	full := overall(1, time.Hour, 1)
	for i := range 1001 {
		defer budget.Request(call(chat.ChatID(fmt.Sprint(i)), chat.ClassPreview, full)).Cancel()
	}
	c := call("a", chat.ClassFinal, perChat(1e9, time.Millisecond, 1e9))
	b.ReportAllocs()
	for b.Loop() {
		budget.Request(c).Done()
	}
}
