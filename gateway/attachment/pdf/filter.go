package pdf

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/ascii85"
	"io"

	"golang.org/x/image/tiff/lzw"
)

// decode returns the decoded content of a stream, at most maxStream bytes. If the content is damaged, the method decode
// returns the part before the damage. If filterReader does not support a filter of the stream, the method decode
// returns nothing.
func (f *file) decode(s stream) []byte {
	filters := f.resolve(s.dict["Filter"])
	list, ok := filters.(array)
	if !ok && filters != nil {
		list = array{filters}
	}
	data := s.raw
	for i, filter := range list {
		n, _ := f.resolve(filter).(name)
		r := f.filterReader(n, data)
		if r == nil || i >= maxFilters {
			return nil
		}
		const setUp = 1 << 12 // steps charged for starting a filter
		f.spend(setUp)
		data = f.readAll(r)
	}
	return data[:min(len(data), maxStream)]
}

// filterReader returns a reader that decodes data. filterReader returns nil if the filter is unknown or is used for
// pictures.
func (f *file) filterReader(filter name, data []byte) io.Reader {
	switch filter {
	case "FlateDecode", "Fl":
		if r, err := zlib.NewReader(bytes.NewReader(data)); err == nil {
			return r
		}
		return flate.NewReader(bytes.NewReader(data[min(2, len(data)):]))
	case "LZWDecode", "LZW":
		return lzw.NewReader(bytes.NewReader(data), lzw.MSB, 8)
	case "ASCII85Decode", "A85":
		data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
		if i := bytes.IndexByte(data, '~'); i >= 0 {
			data = data[:i]
		}
		return ascii85.NewDecoder(bytes.NewReader(data))
	case "ASCIIHexDecode", "AHx":
		l := lexer{budget: f.budget, data: append([]byte("<"), data...)}
		return bytes.NewReader([]byte(l.hex()))
	case "RunLengthDecode", "RL":
		return &runs{data: data}
	}
	return nil
}

// readAll reads at most maxStream bytes and counts them toward maxWork. If reading fails, readAll returns the data
// before the error.
func (f *file) readAll(r io.Reader) []byte {
	var out bytes.Buffer
	for out.Len() < maxStream {
		n, err := io.CopyN(&out, r, 64<<10)
		f.spend(int(n) + 1)
		if err != nil {
			break
		}
	}
	return out.Bytes()
}

// runs decodes run-length encoding.
type runs struct {
	data, out []byte
}

// Read implements [io.Reader].
func (r *runs) Read(p []byte) (int, error) {
	if len(r.out) == 0 {
		if len(r.data) < 2 || r.data[0] == 128 {
			return 0, io.EOF
		}
		if n := int(r.data[0]); n < 128 {
			end := min(n+2, len(r.data))
			r.out, r.data = r.data[1:end], r.data[end:]
		} else {
			r.out, r.data = bytes.Repeat(r.data[1:2], 257-n), r.data[2:]
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}
