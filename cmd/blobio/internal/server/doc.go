// Package server is the verb that shows datasets over HTTP.
package server
