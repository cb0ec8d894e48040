package holdfast

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// secure is what tls:// and rediss:// have after the question mark: files with PEM, and the name that the daemon's
// certificate must have. Without ca the authorities that this host trusts count; without name the host of the address.
type secure struct {
	on                         bool
	ca, certificate, key, name string
}

func parseSecure(text string) (secure, error) {
	s := secure{on: true}
	known := map[string]*string{"ca": &s.ca, "certificate": &s.certificate, "key": &s.key, "name": &s.name}
	for _, option := range strings.Split(text, "&") {
		if option == "" {
			continue
		}
		key, value, _ := strings.Cut(option, "=")
		out := known[key]
		if out == nil {
			return s, fmt.Errorf("after the ? only ca=, certificate=, key= and name= are known, with & between them")
		}
		var err error
		if *out, err = url.PathUnescape(value); err != nil {
			return s, fmt.Errorf("%s has a %% that is not %%XX", key)
		}
	}
	if (s.certificate == "") != (s.key == "") {
		return s, fmt.Errorf("certificate= and key= are needed together")
	}
	return s, nil
}

// config reads the files, anew for each connection: they may have been replaced.
func (s secure) config(host string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if s.name != "" {
		config.ServerName = s.name
	}
	if s.ca != "" && s.ca != "system" {
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate of an authority in PEM", s.ca)
		}
	}
	if s.certificate != "" {
		pair, err := tls.LoadX509KeyPair(s.certificate, s.key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// handshake makes the connection one with TLS. On failure it is closed.
func (s secure) handshake(ctx context.Context, conn net.Conn, place string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(place)
	config, err := s.config(host)
	if err == nil {
		secured := tls.Client(conn, config)
		if err = secured.HandshakeContext(ctx); err == nil {
			return secured, nil
		}
	}
	_ = conn.Close()
	return nil, err
}
