package serve

import (
	"io"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/view/zarr"
)

// Options are the options of New. The zero value, or nil, means the defaults.
type Options struct {
	Token  string    // required of clients, as a bearer token or as the password of any user; "": none
	Public bool      // anyone who reaches the address may read, under any host name
	Hosts  []string  // accepted host names, in addition to the names of this machine. With Token or Public, all host names are accepted
	CORS   string    // pages of this origin may read, such as https://example.org; "*": any origin, without credentials
	Log    io.Writer // gets a line for each request; nil: none. Requests do not wait for the log: if it is too slow, lines are dropped and counted

	Version cdf5.Version      // version of the netCDF files; default CDF5
	Verify  blob.Verification // which checksums reads compare; default VerifyOnce

	AllowMissing bool // missing data read as fill values; otherwise reading them fails
	ZeroFill     bool // elements that no blob covers are zeros instead of fill values

	ZarrChunk int64 // maximum bytes of a Zarr chunk, 4 KiB to 64 MiB; default 8 MiB; at most a twelfth of Memory

	Memory int64         // limit of buffers and caches, in bytes, at least 24 MiB; default 384 MiB. A third is for responses in progress
	Work   int           // concurrent reads; default twice GOMAXPROCS
	Queue  int           // maximum number of waiting requests; default 1024
	Wait   time.Duration // maximum wait; default 30 s
	Stall  time.Duration // a client that receives less than 64 KiB in this time is cut off; default 30 s
	Grace  time.Duration // time for responses in progress at shutdown; default 5 s
}

const (
	minMemory        = 24 << 20
	defaultMemory    = 384 << 20
	maxZarrChunk     = 64 << 20
	defaultZarrChunk = 8 << 20
)

// Validate returns an error for invalid options.
func (o *Options) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Memory != 0 && o.Memory < minMemory:
		return fault.Usage("Options.Memory %d, want at least %d", o.Memory, minMemory)
	case o.ZarrChunk != 0 && (o.ZarrChunk < zarr.MinChunk || o.ZarrChunk > maxZarrChunk):
		return fault.Usage("Options.ZarrChunk %d, want %d to %d", o.ZarrChunk, zarr.MinChunk, maxZarrChunk)
	case o.Work < 0 || o.Queue < 0 || o.Wait < 0 || o.Stall < 0 || o.Grace < 0:
		return fault.Usage("Options.Work %d, Queue %d, Wait %v, Stall %v and Grace %v, want >= 0", o.Work, o.Queue, o.Wait, o.Stall, o.Grace)
	case o.Token != "" && len(o.Token) < minToken:
		return fault.Usage("Options.Token of %d characters, want at least %d", len(o.Token), minToken)
	}
	if o.CORS != "" && o.CORS != "*" {
		u, err := url.Parse(o.CORS)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o.CORS {
			return fault.Usage("Options.CORS %q, want * or an origin such as https://example.org", o.CORS)
		}
	}
	return nil
}

// minToken is the minimum length of a token, against guessing.
const minToken = 16

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Memory == 0 {
		v.Memory = defaultMemory
	}
	if v.ZarrChunk == 0 {
		v.ZarrChunk = defaultZarrChunk
	}
	v.ZarrChunk = min(v.ZarrChunk, v.Memory/12) // allows several concurrent answers
	if v.Work == 0 {
		v.Work = 2 * runtime.GOMAXPROCS(0)
	}
	if v.Queue == 0 {
		v.Queue = 1024
	}
	for _, d := range []struct {
		p *time.Duration
		d time.Duration
	}{{&v.Wait, 30 * time.Second}, {&v.Stall, 30 * time.Second}, {&v.Grace, 5 * time.Second}} {
		if *d.p == 0 {
			*d.p = d.d
		}
	}
	return v
}

// policy allows a page to use resources of this server only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func (o *Options) secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	if o.Token != "" {
		h.Set("Cache-Control", "private, no-cache")
	}
	if o.CORS == "" {
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		return
	}
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Access-Control-Allow-Origin", o.CORS)
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Authorization, Range, If-Range, If-None-Match, If-Modified-Since")
	h.Set("Access-Control-Expose-Headers", "Accept-Ranges, Content-Length, Content-Range, ETag, Last-Modified, Retry-After, XDODS-Server")
	h.Set("Access-Control-Max-Age", "3600")
	if o.CORS != "*" {
		h.Add("Vary", "Origin")
	}
}
