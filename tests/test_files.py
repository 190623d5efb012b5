from pathlib import Path

import pytest

from linrank.files import replacing


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail():
        with replacing(path) as file:
            file.write("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with replacing(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_device_stays_a_device():
    with replacing("/dev/null") as file:
        file.write("gone")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604])
def test_a_file_keeps_its_permissions_when_it_is_replaced(tmp_path, mode):
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(mode)
    with replacing(tmp_path / "file") as file:
        file.write("new")
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "file").stat().st_mode & 0o7777 == mode


def test_new_files_have_the_usual_permissions(tmp_path):
    with replacing(tmp_path / "file", "wb") as file:
        file.write(b"x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode
