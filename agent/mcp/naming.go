package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxToolName is the longest name of a tool that every provider takes
// (https://platform.openai.com/docs/api-reference/chat/create: tools.function.name).
const maxToolName = 64

// nameFor returns what a server's tool is called. It depends on these two alone, so that it is the same at any time and in
// any order. A name that had to be changed ends in a hash of what it was, and so differs from all others.
func nameFor(server, tool string) string {
	name := server + "_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, tool)
	if name == server+"_"+tool && len(name) <= maxToolName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	hash := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxToolName-len(hash))] + hash
}
