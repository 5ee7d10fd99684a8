package tds

import (
	"encoding/binary"
	"strconv"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// Handshake is what a client says when it connects.
type Handshake struct {
	TDSVersion uint32
	PacketSize int
	Host       string // the client's own name
	User       string
	Password   string
	App        string
	Server     string // what the client believes it connects to
	Library    string
	Database   string
	ReadOnly   bool // ApplicationIntent=ReadOnly
}

// Prelogin options.
const (
	optVersion    = 0
	optEncryption = 1
	optInstance   = 2
	optThread     = 3
	optMARS       = 4
	optEnd        = 0xff

	encryptNotSupported = 2
)

// ParsePrelogin reads the options of a PRELOGIN.
func ParsePrelogin(b []byte) (map[byte][]byte, error) {
	options := map[byte][]byte{}
	for at := 0; ; at += 5 {
		if at >= len(b) {
			return nil, malformed("PRELOGIN has no end of its options")
		}
		if b[at] == optEnd {
			return options, nil
		}
		if at+5 > len(b) {
			return nil, malformed("a PRELOGIN option is cut off")
		}
		offset, length := int(binary.BigEndian.Uint16(b[at+1:])), int(binary.BigEndian.Uint16(b[at+3:]))
		if offset+length > len(b) {
			return nil, malformed("PRELOGIN option %d lies outside", b[at])
		}
		options[b[at]] = b[offset : offset+length]
	}
}

// AnswerPrelogin says which version the server is and that it does not encrypt: a client that
// insists on encryption ends here.
func (c *Conn) AnswerPrelogin() error {
	options := []struct {
		token byte
		value []byte
	}{
		{optVersion, []byte{16, 0, 0x03, 0xe8, 0, 0}},
		{optEncryption, []byte{encryptNotSupported}},
		{optInstance, []byte{0}},
		{optThread, nil},
		{optMARS, []byte{0}},
	}
	var head, body []byte
	offset := 5*len(options) + 1
	for _, o := range options {
		head = append(head, o.token)
		head = binary.BigEndian.AppendUint16(head, uint16(offset+len(body)))
		head = binary.BigEndian.AppendUint16(head, uint16(len(o.value)))
		body = append(body, o.value...)
	}
	c.begin(Reply)
	if err := c.put(append(append(head, optEnd), body...)); err != nil {
		return err
	}
	return c.end()
}

// ParseLogin reads a LOGIN7.
func ParseLogin(b []byte) (Handshake, error) {
	const fixed = 94
	var h Handshake
	if len(b) < fixed {
		return h, malformed("LOGIN7 of %d bytes", len(b))
	}
	h.TDSVersion = binary.LittleEndian.Uint32(b[4:])
	h.PacketSize = int(min(binary.LittleEndian.Uint32(b[8:]), maxPacket))
	h.ReadOnly = b[26]&0x20 != 0
	text := func(at int) (string, []byte) {
		offset, chars := int(binary.LittleEndian.Uint16(b[at:])), int(binary.LittleEndian.Uint16(b[at+2:]))
		if offset+2*chars > len(b) {
			return "", nil
		}
		raw := b[offset : offset+2*chars]
		return utf16Text(raw), raw
	}
	h.Host, _ = text(36)
	h.User, _ = text(40)
	_, scrambled := text(44)
	password := make([]byte, len(scrambled))
	for i, x := range scrambled {
		x ^= 0xA5
		password[i] = x<<4 | x>>4
	}
	h.Password = utf16Text(password)
	h.App, _ = text(48)
	h.Server, _ = text(52)
	h.Library, _ = text(60)
	h.Database, _ = text(68)
	return h, nil
}

// Route is where a client is sent instead.
type Route struct {
	Host string
	Port uint16
}

// LoggedIn tells a client that it is in, or where to go instead.
func (c *Conn) LoggedIn(h Handshake, server, database string, route *Route) error {
	size := c.size
	if h.PacketSize >= minPacket {
		size = h.PacketSize
	}
	r := c.Respond(false)
	w := &writer{}
	w.envText(1, database, "master")
	w.message(0xAB, &sqlval.Error{Number: 5701, State: 2, Message: "Changed database context to '" + database + "'."}, server)
	w.envBytes(7, collation, nil)
	w.envText(2, "us_english", "")
	w.message(0xAB, &sqlval.Error{Number: 5703, State: 1, Message: "Changed language setting to us_english."}, server)

	ack := &writer{}
	ack.uint8(1)                        // T-SQL
	ack.bytes([]byte{0x74, 0, 0, 0x04}) // TDS 7.4
	ack.byteText("Microsoft SQL Server")
	ack.bytes([]byte{16, 0, 0x03, 0xe8})
	w.uint8(0xAD)
	w.uint16(uint16(len(ack.b)))
	w.bytes(ack.b)

	if route != nil {
		to := &writer{}
		to.uint8(0) // TCP
		to.uint16(route.Port)
		to.shortText(route.Host)
		w.uint8(0xE3)
		w.uint16(uint16(len(to.b) + 5))
		w.uint8(20)
		w.uint16(uint16(len(to.b)))
		w.bytes(to.b)
		w.uint16(0)
	}
	w.envText(4, strconv.Itoa(size), strconv.Itoa(c.size))
	if err := r.raw(w.b); err != nil {
		return err
	}
	err := r.Finish()
	c.size = size
	return err
}

// Refuse ends a login with an error.
func (c *Conn) Refuse(server string, e *sqlval.Error) error {
	r := c.Respond(false)
	r.Server = server
	if err := r.Error(e); err != nil {
		return err
	}
	if err := r.Done(0, -1, true); err != nil {
		return err
	}
	return r.Finish()
}
