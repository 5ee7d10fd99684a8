package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Version is the version of the file format. A file of another one is refused: a
// field that is not understood could be the one that makes a history right.
const Version = 1

// Writer writes a history as JSON lines: the header, and then one event a line, in
// the order in which they ended. It may be used by several goroutines.
type Writer struct {
	mu  sync.Mutex
	w   *bufio.Writer
	enc *json.Encoder
}

// NewWriter writes the header and returns the writer for the events.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Version = Version
	buffered := bufio.NewWriterSize(w, 1<<16)
	out := &Writer{w: buffered, enc: json.NewEncoder(buffered)}
	out.enc.SetEscapeHTML(false)
	return out, out.enc.Encode(h)
}

// Append writes one event.
func (w *Writer) Append(e *Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enc.Encode(e)
}

// Flush hands everything to the underlying writer.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Flush()
}

// Save writes a whole history.
func Save(to io.Writer, h *History) error {
	w, err := NewWriter(to, h.Header)
	if err != nil {
		return err
	}
	for i := range h.Events {
		if err := w.Append(&h.Events[i]); err != nil {
			return err
		}
	}
	return w.Flush()
}

// ErrCut says that the last line of a file is not whole: the process that wrote it
// was killed. What comes before it is returned.
var ErrCut = errors.New("verify: the last line of the history is not whole")

// Load reads a history. An error names the line.
func Load(from io.Reader) (*History, error) {
	in := bufio.NewReaderSize(from, 1<<16)
	h := &History{}
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if len(text) == 0 && err == io.EOF {
			if line == 1 {
				return nil, errors.New("verify: the history is empty")
			}
			return h, nil
		}
		if err == io.EOF {
			return h, ErrCut
		}
		if err != nil {
			return nil, fmt.Errorf("verify: history, line %d: %w", line, err)
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		if line == 1 {
			if err := json.Unmarshal(text, &struct{ Version *int }{&h.Header.Version}); err == nil && h.Header.Version != Version {
				return nil, fmt.Errorf("verify: history, line 1: version is %d, and this program reads version %d", h.Header.Version, Version)
			}
			err = dec.Decode(&h.Header)
		} else {
			h.Events = append(h.Events, Event{})
			err = dec.Decode(&h.Events[len(h.Events)-1])
		}
		if err != nil {
			return nil, fmt.Errorf("verify: history, line %d: %w", line, err)
		}
	}
}
