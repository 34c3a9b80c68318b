// Package server has the verb serve, which serves datasets over HTTP.
package server
