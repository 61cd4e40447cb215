package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"telex/internal/chat"
)

// hold adds the files of an input to the message that the hub passes on. The hub keeps the files of an input in memory
// until the message is answered or the client disconnects.
func (h *Hub) hold(c *attachedClient, m *chat.Inbound, files []File) error {
	if len(files) == 0 {
		return nil
	}
	size := sizeOf(files)
	h.mu.Lock()
	defer h.mu.Unlock()
	held := size
	for id, files := range c.files {
		if id != m.ID {
			held += sizeOf(files)
		}
	}
	if size > MaxFiles || held > maxHeld || len(files) > maxAttached {
		return errFiles
	}
	for i, f := range files {
		m.Attachments = append(m.Attachments, chat.Attachment{
			ID: string(m.ID) + "/" + strconv.Itoa(i), Name: f.Name, Size: int64(len(f.Data)),
		})
	}
	c.files[m.ID] = files
	return nil
}

func sizeOf(files []File) int {
	size := 0
	for _, f := range files {
		size += len(f.Data)
	}
	return size
}

// Fetch implements gateway.Fetcher. Fetch fails if the file is no longer available, because the input with the file was
// answered, the client that sent the file has disconnected, or the process has restarted.
func (h *Hub) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: err}
	}
	id, number, _ := strings.Cut(a.ID, "/")
	i, err := strconv.Atoi(number)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.clients {
		files := c.files[chat.MessageID(id)]
		switch {
		case err != nil || i < 0 || i >= len(files):
		case int64(len(files[i].Data)) > limit:
			return nil, fmt.Errorf("%d bytes: %w", len(files[i].Data), chat.ErrTooLarge)
		default:
			return files[i].Data, nil
		}
	}
	return nil, &chat.SendError{Kind: chat.Gone, Err: fmt.Errorf("the terminal that attached %q has left", a.Name)}
}
