package session

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// The text of a token is tokenPrefix and, in unpadded URL-safe base64:
//
//	flags      1 byte   bits 0-1 number of positions, 2 Unsure follows, 3 signed; others 0
//	issued     5 bytes  seconds since 1970, big-endian as everything here
//	lifetime   4 bytes  Expires in seconds after issued
//	unsure     5 bytes  seconds since 1970; only with its flag
//	positions  28 bytes each, as lsn.Position.AppendBinary, in ascending order of System
//	tag        16 bytes of HMAC-SHA-256, or 4 bytes of CRC-32C when unsigned
//
// The version stands outside the base64, so that a later one may change all of
// this and still be told from rubbish.
const (
	tokenPrefix  = "r1."
	flagsCount   = 0b0011
	flagUnsure   = 0b0100
	flagSigned   = 0b1000
	flagsKnown   = flagsCount | flagUnsure | flagSigned
	secondsSize  = 5
	lifetimeSize = 4
	rawHeader    = 1 + secondsSize + lifetimeSize
	checksumSize = crc32.Size
	bodyMax      = rawHeader + secondsSize + MaxPositions*lsn.BinarySize
	rawMax       = bodyMax + tagSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns the text of t: [A-Za-z0-9_-] and one dot, at most
// [MaxTokenLength] bytes, the same for the same token and first key. It is
// signed with the first key, or carries a checksum when there is none. It fails
// when t breaks a rule of [Token].
func (k Keys) Encode(t Token) (string, error) {
	s, err := stampOf(&t)
	if err != nil {
		return "", fmt.Errorf("readsplit: token cannot be encoded: %w", err)
	}
	var raw [rawMax]byte
	body := s.append(raw[:0])
	if len(k.sealers) > 0 {
		body[0] |= flagSigned
		tag := k.sealers[0].tag(body)
		body = append(body, tag[:]...)
	} else {
		body = binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
	}
	var text [MaxTokenLength]byte
	return string(base64.RawURLEncoding.AppendEncode(append(text[:0], tokenPrefix...), body)), nil
}

// Decode reads what [Keys.Encode] wrote and nothing else: every other text,
// however close, is refused with a [*TokenError], which [errors.Is] ErrToken.
// With keys, only what one of them has signed is accepted; without, only what is
// unsigned.
//
// A token that is expired at now is returned together with the error of kind
// [TokenExpired], so that its positions can still be used; with every other
// error the Token is empty.
func (k Keys) Decode(text string, now time.Time) (Token, error) {
	if refused := versionOf(text); refused != nil {
		return Token{}, refused
	}
	encoded := text[len(tokenPrefix):]
	if len(text) > MaxTokenLength {
		return Token{}, malformed("it is longer than any token")
	}
	var raw [rawMax + 3]byte
	body, err := base64.RawURLEncoding.AppendDecode(raw[:0], []byte(encoded))
	if err != nil {
		return Token{}, malformed("it is not base64")
	}
	// Several texts decode to the same bytes: spare bits at the end, and line
	// breaks that the decoder skips. Only one of them was written by Encode.
	var again [MaxTokenLength]byte
	if string(base64.RawURLEncoding.AppendEncode(again[:0], body)) != encoded {
		return Token{}, malformed("it is not in canonical form")
	}
	body, refused := k.open(body)
	if refused != nil {
		return Token{}, refused
	}
	s := parseStamp(body)
	if err := s.check(); err != nil {
		return Token{}, malformed("it breaks a rule of its own: " + err.Error())
	}
	t := s.token()
	switch {
	case t.Issued.After(now.Add(MaxTokenSkew)):
		// Unsigned, it would live for as long as its forger likes.
		return Token{}, &TokenError{Kind: TokenFuture, reason: "it says that it was issued in the future; compare the clocks of your servers"}
	case !now.Before(t.Expires):
		return t, &TokenError{Kind: TokenExpired, reason: "its lifetime is over; its positions are returned"}
	}
	return t, nil
}

// versionOf tells a token of another version from a text that is no token.
func versionOf(text string) *TokenError {
	if len(text) >= len(tokenPrefix) && text[:len(tokenPrefix)] == tokenPrefix {
		return nil
	}
	i := 1
	for i < len(text) && i < 4 && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	if i > 1 && i < len(text) && text[0] == tokenPrefix[0] && text[1] != '0' && text[i] == '.' {
		return &TokenError{Kind: TokenVersion, reason: "it was written by another version of readsplit; bring all processes to one version"}
	}
	return malformed("it does not start as a token does")
}

// layout checks flags and length of raw and parts what the tag protects from the
// tag, without looking at it.
func layout(raw []byte) (body, seal []byte, signed bool, refused *TokenError) {
	if len(raw) < rawHeader+checksumSize {
		return nil, nil, false, malformed("it is too short")
	}
	flags := raw[0]
	if flags&^flagsKnown != 0 {
		return nil, nil, false, malformed("it has flags that this version does not write")
	}
	signed = flags&flagSigned != 0
	tag := checksumSize
	if signed {
		tag = tagSize
	}
	want := rawHeader + int(flags&flagsCount)*lsn.BinarySize + tag
	if flags&flagUnsure != 0 {
		want += secondsSize
	}
	if len(raw) != want {
		return nil, nil, false, malformed("its length is not what its flags say")
	}
	return raw[:len(raw)-tag], raw[len(raw)-tag:], signed, nil
}

// open checks flags, length and tag of raw and returns what the tag protects.
func (k Keys) open(raw []byte) (body []byte, refused *TokenError) {
	body, seal, signed, refused := layout(raw)
	switch {
	case refused != nil:
		return nil, refused
	case signed && len(k.sealers) == 0:
		return nil, &TokenError{Kind: TokenBadSignature, reason: "it is signed and no key is configured; configure the key of the process that issued it"}
	case signed && !k.verify(body, seal):
		return nil, &TokenError{Kind: TokenBadSignature, reason: "none of the configured keys signed it; while keys are changed, keep the old one in the list"}
	case !signed && len(k.sealers) > 0:
		return nil, &TokenError{Kind: TokenUnsigned, reason: "a key is configured and it is not signed; configure the key in the process that issued it"}
	case !signed && crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(seal):
		return nil, malformed("its checksum is wrong")
	}
	return body, nil
}

// append writes s without its tag.
func (s *stamp) append(b []byte) []byte {
	flags := byte(s.n)
	if s.hasUnsure {
		flags |= flagUnsure
	}
	b = appendSeconds(append(b, flags), s.issued)
	b = binary.BigEndian.AppendUint32(b, uint32(s.lifetime))
	if s.hasUnsure {
		b = appendSeconds(b, s.unsure)
	}
	for i := range s.positions[:s.n] {
		b, _ = s.positions[i].AppendBinary(b) // never fails
	}
	return b
}

// parseStamp reads what append wrote; the length of b is right, the values are
// not checked yet.
func parseStamp(b []byte) (s stamp) {
	flags := b[0]
	s.issued = seconds(b[1:])
	s.lifetime = int64(binary.BigEndian.Uint32(b[1+secondsSize:]))
	b = b[rawHeader:]
	if flags&flagUnsure != 0 {
		s.hasUnsure, s.unsure = true, seconds(b)
		b = b[secondsSize:]
	}
	for s.n = 0; s.n < int(flags&flagsCount); s.n++ {
		s.positions[s.n], _ = lsn.FromBinary(b[:lsn.BinarySize]) // fails on another length only
		b = b[lsn.BinarySize:]
	}
	return s
}

func appendSeconds(b []byte, s int64) []byte {
	return append(b, byte(s>>32), byte(s>>24), byte(s>>16), byte(s>>8), byte(s))
}

func seconds(b []byte) int64 {
	return int64(b[0])<<32 | int64(binary.BigEndian.Uint32(b[1:]))
}
