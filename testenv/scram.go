package testenv

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

// newPassword is the superuser's: without one, every user of the machine could run programs as
// the account of the servers through COPY ... TO PROGRAM.
func newPassword() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// scramSecret is what pg_authid stores for password (RFC 5803 as PostgreSQL writes it), with one
// iteration instead of 4,096: a random password gains nothing from more, and a test that opens
// hundreds of connections would pay milliseconds of CPU for each.
func scramSecret(password string) (string, error) {
	var salt [16]byte
	_, _ = rand.Read(salt[:])
	salted, err := pbkdf2.Key(sha256.New, password, salt[:], 1, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive the password's secret: %w", err)
	}
	stored := sha256.Sum256(mac(salted, "Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$1:%s$%s:%s", b64(salt[:]), b64(stored[:]), b64(mac(salted, "Server Key"))), nil
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
