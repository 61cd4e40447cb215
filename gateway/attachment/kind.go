package attachment

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"

	"telex/internal/chat"
)

// Kind is the way in which an attachment can be used.
type Kind uint8

// The kinds. The zero value is Other, which can't be used.
const (
	Other    Kind = iota
	Image         // a picture that Shrink converts
	Text          // a text file that Decode converts
	Audio         // speech that a Transcriber converts
	HTML          // a web page
	Document      // a PDF, or an archive that may be a DOCX, XLSX or EPUB file
)

// KindOf returns an attachment's kind according to the first 512 bytes of its content. The sender's media type and file
// name count only if the content is ambiguous or not downloaded yet. An attachment of kind Text may still turn out to be
// binary.
func KindOf(a chat.Attachment, head []byte) Kind {
	if len(head) == 0 {
		return declaredKind(a)
	}
	mediaType, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil {
		return Other
	}
	switch mediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return Image
	case "audio/mpeg", "audio/wave", "audio/aiff":
		return Audio
	case "application/ogg", "video/mp4", "video/webm":
		// These formats contain audio or video, so the sender's media type decides.
		if declaredKind(a) == Audio || isAudio(head) {
			return Audio
		}
		return Other
	case "text/html":
		return HTML
	case "text/plain", "text/xml":
		if k := declaredKind(a); k == HTML {
			return HTML
		}
		return Text
	case "application/pdf", "application/zip":
		return Document
	case "application/octet-stream":
		if isAudio(head) {
			return Audio
		}
	}
	if isPDF(head) {
		return Document
	}
	return Other
}

// isPDF reports whether a file is a PDF. Some PDF files contain a few other bytes before their header.
func isPDF(head []byte) bool { return bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")) }

// isAudio reports whether the content is in an audio format that [http.DetectContentType] does not know or does not
// distinguish from video.
func isAudio(head []byte) bool {
	if len(head) < 12 {
		return false
	}
	switch {
	case bytes.HasPrefix(head, []byte("fLaC")), bytes.HasPrefix(head, []byte("#!AMR")):
		return true
	case string(head[4:8]) == "ftyp":
		return string(head[8:12]) == "M4A " || string(head[8:12]) == "M4B "
	case string(head[:4]) == "OggS":
		return !bytes.Contains(head, []byte("theora")) &&
			(bytes.Contains(head, []byte("OpusHead")) || bytes.Contains(head, []byte("\x01vorbis")))
	}
	// Report whether the content begins with an MPEG frame of layer III, without an ID3 tag before it, or with an
	// ADTS frame.
	return head[0] == 0xff && (head[1]&0xe6 == 0xe2 || head[1]&0xf6 == 0xf0)
}

// declaredKind returns an attachment's kind according to the sender's media type. If the media type says nothing,
// declaredKind uses the file name.
func declaredKind(a chat.Attachment) Kind {
	mediaType, _, err := mime.ParseMediaType(a.MediaType)
	if err != nil || mediaType == "application/octet-stream" {
		return kindByName(a.Name)
	}
	switch mediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return Image
	case "image/svg+xml", "application/json", "application/xml", "application/yaml", "application/x-yaml",
		"application/toml", "application/javascript", "application/sql", "application/x-sh", "application/x-ndjson":
		return Text
	case "application/ogg":
		return Audio
	case "text/html", "application/xhtml+xml":
		return HTML
	case "application/pdf", "application/epub+zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":

		return Document
	}
	switch kind, _, _ := strings.Cut(mediaType, "/"); {
	case kind == "audio":
		return Audio
	case kind == "text", strings.HasSuffix(mediaType, "+json"), strings.HasSuffix(mediaType, "+xml"):
		return Text
	}
	return Other
}

// kindByName returns an attachment's kind according to the extension of its name. The list of text extensions is
// incomplete; other text files are recognized by content.
func kindByName(name string) Kind {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png", ".gif", ".webp":
		return Image
	case ".txt", ".md", ".csv", ".tsv", ".log", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".toml", ".ini", ".conf",
		".css", ".js", ".ts", ".go", ".py", ".rs", ".c", ".h", ".cpp", ".java", ".rb", ".php",
		".sh", ".sql", ".diff", ".patch", ".svg", ".tex", ".srt", ".vtt":
		return Text
	case ".html", ".htm", ".xhtml":
		return HTML
	case ".pdf", ".docx", ".xlsx", ".epub":
		return Document
	case ".ogg", ".oga", ".opus", ".mp3", ".m4a", ".wav", ".flac", ".aac", ".amr", ".weba":
		return Audio
	}
	return Other
}
