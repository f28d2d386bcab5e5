package cli

import (
	"net/http"

	"github.com/braidmq/braid/internal/server"
)

// pages makes what the server shows to browsers; nil while there is nothing.
var pages func(server.Pages) http.Handler
