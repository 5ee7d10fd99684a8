package tds

import (
	"encoding/binary"
	"unicode/utf16"
)

// reader takes a payload apart. After the first read beyond its end all reads give zeroes, and
// err says so.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		if r.err == nil {
			r.err = malformed("%d bytes are wanted, %d are left", n, len(r.b))
		}
		r.b = nil
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) uint8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// byteText is B_VARCHAR: the number of characters in a byte.
func (r *reader) byteText() string { return utf16Text(r.take(2 * int(r.uint8()))) }

func utf16Text(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// writer puts a payload together.
type writer struct{ b []byte }

func (w *writer) uint8(n uint8)   { w.b = append(w.b, n) }
func (w *writer) uint16(n uint16) { w.b = binary.LittleEndian.AppendUint16(w.b, n) }
func (w *writer) uint32(n uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, n) }
func (w *writer) uint64(n uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, n) }
func (w *writer) bytes(b []byte)  { w.b = append(w.b, b...) }

func utf16Bytes(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// byteText is B_VARCHAR; what is longer is cut.
func (w *writer) byteText(s string) {
	b := utf16Bytes(s)
	b = b[:min(len(b), 2*255)]
	w.uint8(uint8(len(b) / 2))
	w.bytes(b)
}

// shortText is US_VARCHAR.
func (w *writer) shortText(s string) {
	b := utf16Bytes(s)
	b = b[:min(len(b), 2*0xffff)]
	w.uint16(uint16(len(b) / 2))
	w.bytes(b)
}
