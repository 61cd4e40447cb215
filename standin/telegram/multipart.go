package telegram

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
)

// addMultipart reads a form with files.
func (p *params) addMultipart(body io.Reader, boundary string) error {
	if boundary == "" {
		return errors.New("parse multipart: no boundary")
	}
	reader := multipart.NewReader(body, boundary)
	for {
		part, err := reader.NextPart()
		if err == io.EOF { //nolint:errorlint // a form that was cut wraps io.EOF; only the bare one is its end.
			return nil
		}
		if err != nil {
			return fmt.Errorf("parse multipart: %w", err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return fmt.Errorf("read part: %w", err)
		}
		if name := part.FileName(); name != "" {
			p.files[part.FormName()] = upload{name: name, data: data}
		} else {
			p.values[part.FormName()] = string(data)
		}
	}
}
