package telegram

import (
	"errors"
	"strings"
)

// parseMarkup turns text in a parse mode into plain text with entities.
func parseMarkup(text, mode string) (string, []Entity, error) {
	switch strings.ToLower(mode) {
	case "", "none":
		return text, nil, nil
	}
	return "", nil, errors.New("unsupported parse_mode")
}
