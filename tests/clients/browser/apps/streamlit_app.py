import streamlit

if "count" not in streamlit.session_state:
    streamlit.session_state.count = 0
if streamlit.button("more"):
    streamlit.session_state.count += 1
streamlit.write(f"count is {streamlit.session_state.count}")
uploaded = streamlit.file_uploader("a file")
if uploaded is not None:
    streamlit.write(f"got {len(uploaded.getvalue())} bytes")
