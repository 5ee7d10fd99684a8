package session_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// seal turns a body into a token's text as a process of another make would:
// the tests below need tokens that are genuine and wrong.
func seal(key, body []byte) string {
	body = append([]byte(nil), body...)
	if key == nil {
		body = binary.BigEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	} else {
		derive := hmac.New(sha256.New, key)
		derive.Write([]byte("readsplit session token, version 1"))
		sign := hmac.New(sha256.New, derive.Sum(nil))
		sign.Write(body)
		body = append(body, sign.Sum(nil)[:16]...)
	}
	return "r1." + base64.RawURLEncoding.EncodeToString(body)
}

// body writes a token's body with whatever it is given.
func body(flags byte, issued uint64, lifetime uint32, rest ...[]byte) []byte {
	b := []byte{flags, byte(issued >> 32)}
	b = binary.BigEndian.AppendUint32(b, uint32(issued))
	b = binary.BigEndian.AppendUint32(b, lifetime)
	for _, r := range rest {
		b = append(b, r...)
	}
	return b
}

func raw(p lsn.Position) []byte {
	b, _ := p.AppendBinary(nil)
	return b
}

func TestDecodeRefusesWhatOthersSealed(t *testing.T) {
	const signed = 0b1000
	at := uint64(issued.Unix())
	unsure := func(s uint64) []byte { return binary.BigEndian.AppendUint64(nil, s)[3:] }
	good := body(signed|1, at, 60, raw(position(9, 77)))
	k := mustKeys(t, newKey)
	got, err := k.Decode(seal(newKey, good), issued)
	require.NoError(t, err, "the tests' own seal must be right, or the table proves nothing")
	require.Equal(t, []lsn.Position{position(9, 77)}, got.Positions)

	for name, b := range map[string][]byte{
		"lifetime of 31 days":     body(signed, at, 31*86400),
		"lifetime of 136 years":   body(signed, at, 0xFFFFFFFF),
		"unsure after expiry":     body(signed|0b0100, at, 60, unsure(at+61)),
		"zero position":           body(signed|1, at, 60, make([]byte, lsn.BinarySize)),
		"position without LSN":    body(signed|1, at, 60, raw(position(9, 0))),
		"one cluster twice":       body(signed|2, at, 60, raw(position(9, 77)), raw(position(9, 78))),
		"same position twice":     body(signed|2, at, 60, raw(position(9, 77)), raw(position(9, 77))),
		"clusters out of order":   body(signed|2, at, 60, raw(position(9, 77)), raw(position(8, 77))),
		"position missing":        body(signed|2, at, 60, raw(position(9, 77))),
		"position too many":       body(signed|1, at, 60, raw(position(8, 77)), raw(position(9, 77))),
		"one byte too many":       append(good[:len(good):len(good)], 0),
		"one byte too few":        good[:len(good)-1],
		"unsure flag, no unsure":  body(signed|0b0100, at, 60),
		"unsure without its flag": body(signed, at, 60, unsure(at+1)),
		"unknown flag 4":          body(signed|1<<4, at, 60),
		"unknown flag 5":          body(signed|1<<5, at, 60),
		"unknown flag 6":          body(signed|1<<6, at, 60),
		"unknown flag 7":          body(signed|1<<7, at, 60),
		"header cut":              body(signed, at, 60)[:9],
		"nothing":                 {},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := k.Decode(seal(newKey, b), issued)
			requireKind(t, session.TokenMalformed, err)
			assert.Equal(t, session.Token{}, got)
			if len(b) > 0 {
				b = append([]byte{b[0] &^ signed}, b[1:]...)
			}
			_, err = session.Keys{}.Decode(seal(nil, b), issued)
			requireKind(t, session.TokenMalformed, err)
		})
	}
}

func TestDecodeRefusesTexts(t *testing.T) {
	signer := mustKeys(t, newKey)
	unsigned, signed := mustEncode(t, session.Keys{}, full()), mustEncode(t, signer, full())
	// The last character carries spare bits: another one decodes to the same bytes.
	b64 := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(b64, signed[len(signed)-1])
	twin := signed[:len(signed)-1] + string(b64[last^1])
	short := mustEncode(t, signer, session.Token{Issued: issued, Expires: issued.Add(time.Hour)})

	for name, c := range map[string]struct {
		keys session.Keys
		text string
		want session.TokenErrorKind
	}{
		"empty":                   {signer, "", session.TokenMalformed},
		"prefix only":             {signer, "r1.", session.TokenMalformed},
		"prefix cut":              {signer, "r1", session.TokenMalformed},
		"rubbish":                 {signer, "' OR 1=1 --", session.TokenMalformed},
		"not UTF-8":               {signer, "r1.\xff\xfe", session.TokenMalformed},
		"other prefix":            {signer, "x1." + signed[3:], session.TokenMalformed},
		"upper-case prefix":       {signer, "R1." + signed[3:], session.TokenMalformed},
		"next version":            {signer, "r2." + signed[3:], session.TokenVersion},
		"version 12":              {signer, "r12.anything", session.TokenVersion},
		"version 999":             {session.Keys{}, "r999.", session.TokenVersion},
		"version 1000":            {signer, "r1000.x", session.TokenMalformed},
		"version 0":               {signer, "r0.x", session.TokenMalformed},
		"version 01":              {signer, "r01.x", session.TokenMalformed},
		"no version":              {signer, "r.x", session.TokenMalformed},
		"blank in front":          {signer, " " + signed, session.TokenMalformed},
		"blank behind":            {signer, signed + " ", session.TokenMalformed},
		"line break behind":       {signer, short + "\n", session.TokenMalformed},
		"line break inside":       {signer, short[:20] + "\r\n" + short[20:], session.TokenMalformed},
		"padded":                  {signer, short + "=", session.TokenMalformed},
		"twin of the same bytes":  {signer, twin, session.TokenMalformed},
		"standard base64":         {signer, short[:10] + "+" + short[11:], session.TokenMalformed},
		"twice":                   {signer, signed + signed, session.TokenMalformed},
		"very long":               {signer, "r1." + strings.Repeat("A", 1<<20), session.TokenMalformed},
		"unsigned, key set":       {signer, unsigned, session.TokenUnsigned},
		"signed, no key":          {session.Keys{}, signed, session.TokenBadSignature},
		"signed, other key":       {mustKeys(t, oldKey), signed, session.TokenBadSignature},
		"signed without domain":   {signer, sealBare(newKey), session.TokenBadSignature},
		"unsigned, wrong digest":  {session.Keys{}, unsigned[:len(unsigned)-4] + "AAAA", session.TokenMalformed},
		"signed, tag cut to none": {signer, signed[:len(signed)-22], session.TokenMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.keys.Decode(c.text, issued)
			requireKind(t, c.want, err)
			assert.Equal(t, session.Token{}, got)
		})
	}
}

// sealBare signs with the key itself, as another use of the same key would.
func sealBare(key []byte) string {
	b := body(0b1000, uint64(issued.Unix()), 60)
	sign := hmac.New(sha256.New, key)
	sign.Write(b)
	return "r1." + base64.RawURLEncoding.EncodeToString(append(b, sign.Sum(nil)[:16]...))
}

func TestEveryDamageIsRefused(t *testing.T) {
	for name, k := range map[string]session.Keys{"unsigned": {}, "signed": mustKeys(t, newKey, oldKey)} {
		for _, token := range []session.Token{full(), {Issued: issued, Expires: issued.Add(time.Hour), Positions: full().Positions[:1]}} {
			text := mustEncode(t, k, token)
			refuse := func(what, damaged string, i int) {
				if got, err := k.Decode(damaged, issued); err == nil || len(got.Positions) > 0 {
					t.Fatalf("%s: %s at %d was accepted: %v, %v", name, what, i, got, err)
				}
			}
			for i := range len(text) {
				refuse("cut", text[:i], i)
				refuse("removal", text[:i]+text[i+1:], i)
				for bit := range 8 {
					b := []byte(text)
					b[i] ^= 1 << bit
					refuse("bit flip of the text", string(b), i)
				}
				for _, c := range "A-_z0" {
					if byte(c) != text[i] {
						refuse("another character", text[:i]+string(c)+text[i+1:], i)
					}
				}
			}
			bytes, err := base64.RawURLEncoding.DecodeString(text[3:])
			require.NoError(t, err)
			for i := range bytes {
				for mask := 1; mask < 256; mask++ {
					bytes[i] ^= byte(mask)
					refuse("change of a byte", "r1."+base64.RawURLEncoding.EncodeToString(bytes), i)
					bytes[i] ^= byte(mask)
				}
			}
		}
	}
}

func TestTokensFromManyGoroutines(t *testing.T) {
	k := mustKeys(t, newKey, oldKey)
	fail := make(chan string, 8)
	for g := range 8 {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range 500 {
				want := session.Token{Issued: issued, Expires: issued.Add(time.Hour), Positions: []lsn.Position{position(rng.Uint64()|1, lsn.LSN(rng.Uint64()|1))}}
				text, err := k.Encode(want)
				if err != nil {
					fail <- err.Error()
					return
				}
				if got, err := k.Decode(text, issued); err != nil || got.Positions[0] != want.Positions[0] {
					fail <- "a token came back as another"
					return
				}
			}
			fail <- ""
		}()
	}
	for range 8 {
		require.Empty(t, <-fail)
	}
}
