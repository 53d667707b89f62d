"""A form with Django's protection against forgery, and a page that an absolute redirect leads to."""

import os
import sys

from django.conf import settings

settings.configure(DEBUG=True, SECRET_KEY="x" * 50, ROOT_URLCONF=__name__, FORCE_SCRIPT_NAME=os.environ.get("SCRIPT_NAME"),
                   ALLOWED_HOSTS=[], MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"],
                   TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}])

from django.core.management import execute_from_command_line  # noqa: E402
from django.http import HttpResponse, HttpResponseRedirect  # noqa: E402
from django.template import engines  # noqa: E402
from django.urls import path, reverse  # noqa: E402

FORM = '<form method="post">{% csrf_token %}<input name="word"><button>send</button></form>'


def show_form(request):
    if request.method == "POST":
        return HttpResponseRedirect(request.build_absolute_uri(reverse("thanks") + "?word=" + request.POST["word"]))
    return HttpResponse(engines["django"].from_string(FORM).render({}, request))


def show_thanks(request):
    return HttpResponse(f"<p>thanks for {request.GET['word']}</p>")


urlpatterns = [path("", show_form), path("thanks", show_thanks, name="thanks")]

if __name__ == "__main__":
    execute_from_command_line(["manage", "runserver", "--noreload", "--skip-checks", sys.argv[1]])
